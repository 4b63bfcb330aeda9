/** A drafter that decodes: its session, and the texts that go through it. */
import { Failure } from '../failure.ts'
import { draftGraph } from '../models/draft-graph.ts'
import type { Drafter } from '../models/drafter.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import type { Target } from '../models/target.ts'
import type { Feed, Feeds } from '../session/feed.ts'
import { prepareModel } from '../session/prepare.ts'
import { openSession, type Session } from '../session/session.ts'
import { integers, type Placed } from './target-text.ts'
import { type DrafterText, type Logits, rowOf } from './text.ts'
import { best } from './verify.ts'

export interface DecodingDrafter {
  /** @param capacity  in tokens of the text that are kept */
  text(capacity: number): CachedDrafterText
  release(): Promise<void>
}

/**
 * @param pair  the target is the one that the drafter was made for
 * @throws      Failure `invalid`: the model does not load, or weights do not fit the config
 */
export async function openDecodingDrafter(
  pair: { readonly drafter: Drafter; readonly target: Target },
  placed: Placed,
): Promise<DecodingDrafter> {
  const { drafter, target } = pair
  const graph = draftGraph(drafter, target)
  const session = await openSession(await prepareModel(graph, placed.dir, placed.onCopy), placed)
  const { config } = drafter
  const { vocabSize } = target
  return {
    text: (capacity) => new CachedDrafterText({ session, config, vocabSize, capacity }),
    release: () => session.release(),
  }
}

/** Keys and values of one layer's context, position after position. */
interface Context {
  readonly key: Float32Array
  readonly value: Float32Array
}

const parts = ['key', 'value'] as const

export class CachedDrafterText implements DrafterText {
  readonly blockSize: number
  readonly #session: Session
  readonly #config: DrafterConfig
  readonly #vocabSize: number
  readonly #capacity: number
  /** Of a position, in one layer's keys. */
  readonly #width: number
  readonly #context: readonly Context[]
  #length = 0

  constructor(of: {
    readonly session: Session
    readonly config: DrafterConfig
    readonly vocabSize: number
    readonly capacity: number
  }) {
    const { config, capacity } = of
    this.#session = of.session
    this.#config = config
    this.#vocabSize = of.vocabSize
    this.#capacity = capacity
    this.blockSize = config.blockSize
    this.#width = config.kvHeads * config.headDim
    this.#context = Array.from({ length: config.layers }, () => ({
      key: new Float32Array(capacity * this.#width),
      value: new Float32Array(capacity * this.#width),
    }))
  }

  async draft(hidden: Float32Array, anchor: number): Promise<readonly number[]> {
    const logits = await this.propose(hidden, anchor)
    return Array.from({ length: this.blockSize - 1 }, (_, i) => best(rowOf(logits, i)).id)
  }

  /** As `draft`, with all that the drafter thinks: [blockSize − 1, vocab]. */
  async propose(hidden: Float32Array, anchor: number): Promise<Logits> {
    const width = this.#config.targetLayerIds.length * this.#config.hiddenSize
    const added = hidden.length / width
    if (!Number.isInteger(added) || this.#length + added > this.#capacity) {
      const facts = `kept=${this.#length}, added=${added}, capacity=${this.#capacity}`
      throw new Failure('invalid', `a drafter has no room for what the target kept. ${facts}`)
    }
    const results = await this.#session.run({
      context: { dtype: 'F32', shape: [added, width], data: hidden },
      anchor: integers([anchor], [1]),
      ...this.#past(),
    })
    this.#append(results, added)
    return { data: floats(results.logits), vocabSize: this.#vocabSize }
  }

  #past(): Record<string, Feed> {
    const feeds: Record<string, Feed> = {}
    const shape = [this.#length, this.#width]
    this.#context.forEach((context, layer) => {
      for (const part of parts) {
        const data = context[part].subarray(0, this.#length * this.#width)
        feeds[`past_${part}_${layer}`] = { dtype: 'F32', shape, data }
      }
    })
    return feeds
  }

  #append(results: Feeds, added: number): void {
    this.#context.forEach((context, layer) => {
      for (const part of parts) {
        context[part].set(floats(results[`${part}_${layer}`]), this.#length * this.#width)
      }
    })
    this.#length += added
  }
}

function floats({ dtype, data }: Feed): Float32Array {
  if (dtype === 'F32') return data
  throw new Failure('invalid', `a drafting model gives other than floats. found=${dtype}`)
}
