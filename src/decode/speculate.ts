/**
 * The loops of decoding: a drafter proposes blocks and the target verifies each in one forward
 * pass; or the target alone, a token at a time. The same tokens come out of both, where tokens are
 * not drawn.
 *
 * @source  z-lab/dflash `dflash_generate`; here no step follows a first token that ends the text
 */
import type { DrafterText, TargetText } from './text.ts'
import type { Verify } from './verify.ts'

export interface Wanted {
  /** At least one token. */
  readonly prompt: readonly number[]
  readonly maxNewTokens: number
  /** Any of them ends the text, and is its last token. */
  readonly stopTokens: ReadonlySet<number>
}

/** One block. */
export interface Step {
  readonly drafted: readonly number[]
  /** How many of them stood. What came of the step is one more: the target's own token. */
  readonly accepted: number
}

/** What was decoded. */
export interface Decoded {
  /** No more than asked for; the stop token is among them. */
  readonly tokens: readonly number[]
  /** By how much each led the next best one; none where tokens are drawn. */
  readonly leads: readonly number[]
  /** None of the target alone. In the last one, more may have stood than was asked for. */
  readonly steps: readonly Step[]
}

/**
 * With a drafter. Both texts are new. As in z-lab's loop, whose figures are compared with, a step
 * also follows the last token that was asked for, where that is known by itself.
 */
export async function speculate(
  { target, drafter }: { readonly target: TargetText; readonly drafter: DrafterText },
  wanted: Wanted,
  verify: Verify,
): Promise<Decoded> {
  const out = new Output(wanted)
  const steps: Step[] = []
  const first = await target.read(wanted.prompt, 'last')
  target.keep(wanted.prompt.length)
  const { next, leads } = verify([], first.logits)
  out.add([next], leads)
  let { hidden } = first
  let anchor = next
  while (!out.stopped && out.length <= wanted.maxNewTokens) {
    const drafted = await drafter.draft(hidden, anchor)
    const reading = await target.read([anchor, ...drafted], 'all')
    const verdict = verify(drafted, reading.logits)
    const kept = verdict.accepted + 1
    target.keep(kept)
    steps.push({ drafted, accepted: verdict.accepted })
    out.add([...drafted.slice(0, verdict.accepted), verdict.next], verdict.leads)
    hidden = reading.hidden.subarray(0, (reading.hidden.length / (drafted.length + 1)) * kept)
    anchor = verdict.next
  }
  return { ...out.cut(), steps }
}

/** Without one. The text is new. */
export async function decodeAlone(
  target: TargetText,
  wanted: Wanted,
  verify: Verify,
): Promise<Decoded> {
  const out = new Output(wanted)
  let ids = wanted.prompt
  while (!out.stopped && out.length < wanted.maxNewTokens) {
    const { logits } = await target.read(ids, 'last')
    target.keep(ids.length)
    const { next, leads } = verify([], logits)
    out.add([next], leads)
    ids = [next]
  }
  return { ...out.cut(), steps: [] }
}

/** What came out so far; the last step may bring more than is wanted. */
class Output {
  readonly #wanted: Wanted
  readonly #tokens: number[] = []
  readonly #leads: number[] = []
  #stoppedAt = Number.POSITIVE_INFINITY

  constructor(wanted: Wanted) {
    this.#wanted = wanted
  }

  add(tokens: readonly number[], leads: readonly number[]): void {
    const stop = tokens.findIndex((id) => this.#wanted.stopTokens.has(id))
    if (stop >= 0) this.#stoppedAt = Math.min(this.#stoppedAt, this.#tokens.length + stop)
    this.#tokens.push(...tokens)
    this.#leads.push(...leads)
  }

  get length(): number {
    return this.#tokens.length
  }

  get stopped(): boolean {
    return this.#stoppedAt < this.#tokens.length
  }

  cut(): { readonly tokens: readonly number[]; readonly leads: readonly number[] } {
    const end = Math.min(this.#wanted.maxNewTokens, this.#stoppedAt + 1)
    return { tokens: this.#tokens.slice(0, end), leads: this.#leads.slice(0, end) }
  }
}
