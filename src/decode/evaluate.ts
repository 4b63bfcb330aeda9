/**
 * A drafter on prompts: each is decoded with it and without, by turns which comes first. What comes
 * out must be the same; how many tokens a step brings, and how long all of it takes, is measured.
 */
import { seededRandom } from '../clock.ts'
import { type Acceptance, acceptanceOf } from './acceptance.ts'
import { type Difference, differenceOf } from './difference.ts'
import type { DecodingDrafter } from './drafter-text.ts'
import { type Decoded, decodeAlone, speculate, type Wanted } from './speculate.ts'
import { Stopwatch } from './stopwatch.ts'
import type { DecodingTarget } from './target-text.ts'
import type { DrafterText, TargetText } from './text.ts'
import { drawing, greedily, type Verify } from './verify.ts'

export interface EvaluationOptions extends Omit<Wanted, 'prompt'> {
  readonly blockSize: number
  /** 0: the best token always. Above, tokens are drawn, and the two texts are not compared. */
  readonly temperature: number
  readonly seed: number
  /** Told after each prompt. */
  readonly onPrompt: () => void
}

/** One way to decode. Times leave out the prompt's own forward pass, which both ways share. */
export interface Speed {
  readonly tokens: number
  readonly seconds: number
  /** Null where no token came after the first. */
  readonly tokensPerSecond: number | null
}

export interface Evaluation {
  readonly acceptance: Acceptance
  readonly alone: Speed
  readonly drafted: Speed
  /** Medians, in milliseconds. */
  readonly passes: {
    readonly targetToken: number | null
    readonly targetBlock: number | null
    readonly drafter: number | null
  }
  /** The narrowest lead of a best token over the next best; null where tokens are drawn. */
  readonly leadMin: number | null
  /** Prompts, from 0, whose texts part. */
  readonly differences: readonly (Difference & { readonly prompt: number })[]
}

interface Pair {
  readonly target: DecodingTarget
  readonly drafter: DecodingDrafter
}

/** @param prompts  at least one, each of at least one token */
export async function evaluate(
  pair: Pair,
  prompts: readonly (readonly number[])[],
  options: EvaluationOptions,
): Promise<Evaluation> {
  const runs = new Runs(pair, options)
  // First passes pay for memory that later ones find.
  await new Runs(pair, { ...options, maxNewTokens: 2 }).both(prompts[0], 0)
  for (const [index, prompt] of prompts.entries()) {
    await runs.both(prompt, index)
    options.onPrompt()
  }
  return runs.result()
}

class Runs {
  readonly #pair: Pair
  readonly #options: EvaluationOptions
  readonly #lengths: number[][] = []
  readonly #differences: (Difference & { readonly prompt: number })[] = []
  readonly #watches = {
    prompt: new Stopwatch(),
    token: new Stopwatch(),
    block: new Stopwatch(),
    drafter: new Stopwatch(),
  }
  readonly #alone = { tokens: 0, ms: 0 }
  readonly #drafted = { tokens: 0, ms: 0 }
  #leadMin = Number.POSITIVE_INFINITY

  constructor(pair: Pair, options: EvaluationOptions) {
    this.#pair = pair
    this.#options = options
  }

  async both(prompt: readonly number[], index: number): Promise<void> {
    const wanted: Wanted = { ...this.#options, prompt }
    const ways = {
      alone: () => this.#runAlone(wanted, this.#verify(2 * index)),
      drafted: () => this.#runDrafted(wanted, this.#verify(2 * index + 1)),
    }
    const first = index % 2 === 0 ? await ways.alone() : undefined
    const drafted = await ways.drafted()
    const alone = first ?? (await ways.alone())
    this.#lengths.push(drafted.steps.map(({ accepted }) => accepted + 1))
    if (this.#options.temperature > 0) return
    this.#leadMin = Math.min(this.#leadMin, ...alone.leads)
    const difference = differenceOf(alone, drafted)
    if (difference) this.#differences.push({ prompt: index, ...difference })
  }

  result(): Evaluation {
    const { token, block, drafter } = this.#watches
    return {
      acceptance: acceptanceOf(this.#lengths, this.#options.blockSize),
      alone: speedOf(this.#alone),
      drafted: speedOf(this.#drafted),
      passes: { targetToken: token.median, targetBlock: block.median, drafter: drafter.median },
      leadMin: Number.isFinite(this.#leadMin) ? this.#leadMin : null,
      differences: this.#differences,
    }
  }

  #verify(stream: number): Verify {
    const { temperature, seed } = this.#options
    // Every run draws from numbers of its own, the same whatever other prompts there are.
    return temperature === 0
      ? greedily
      : drawing({ temperature, random: seededRandom(Math.imul(seed, 0x9e3779b1) + stream) })
  }

  async #runAlone(wanted: Wanted, verify: Verify): Promise<Decoded> {
    const { target, clock } = this.#target(wanted, this.#watches.token)
    const decoded = await decodeAlone(target, wanted, verify)
    this.#alone.ms += clock.ms()
    this.#alone.tokens += decoded.tokens.length - 1
    return decoded
  }

  async #runDrafted(wanted: Wanted, verify: Verify): Promise<Decoded> {
    const { target, clock } = this.#target(wanted, this.#watches.block)
    const text = this.#pair.drafter.text(this.#capacity(wanted))
    const drafter: DrafterText = {
      blockSize: text.blockSize,
      draft: (hidden, anchor) => this.#watches.drafter.time(() => text.draft(hidden, anchor)),
    }
    const decoded = await speculate({ target, drafter }, wanted, verify)
    this.#drafted.ms += clock.ms()
    this.#drafted.tokens += decoded.tokens.length - 1
    return decoded
  }

  /** A new text, and what time has passed since its prompt was read. */
  #target(wanted: Wanted, watch: Stopwatch) {
    const text = this.#pair.target.text(this.#capacity(wanted))
    let since = Number.NaN
    const target: TargetText = {
      get length() {
        return text.length
      },
      read: async (ids, want) => {
        const isPrompt = Number.isNaN(since)
        const pass = () => text.read(ids, want)
        const reading = await (isPrompt ? this.#watches.prompt : watch).time(pass)
        if (isPrompt) since = performance.now()
        return reading
      },
      keep: (count) => text.keep(count),
    }
    return { target, clock: { ms: () => performance.now() - since } }
  }

  /** A last block may be read behind the last token. */
  #capacity({ prompt, maxNewTokens }: Wanted): number {
    return prompt.length + maxNewTokens + this.#options.blockSize
  }
}

function speedOf({ tokens, ms }: { readonly tokens: number; readonly ms: number }): Speed {
  const seconds = ms / 1000
  return { tokens, seconds, tokensPerSecond: tokens > 0 ? tokens / seconds : null }
}
