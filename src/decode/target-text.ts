/** A target that decodes: its session, and the texts that go through it. */
import { Failure } from '../failure.ts'
import type { Target } from '../models/target.ts'
import type { Feed } from '../session/feed.ts'
import { type Copied, prepareModel } from '../session/prepare.ts'
import { openSession, type Session, type SessionOptions } from '../session/session.ts'
import { keyValueMemory } from './key-values.ts'
import { decodingGraph } from './target-graph.ts'
import type { TargetText } from './text.ts'

/** Where a model that decodes is laid out, and how it runs. */
export interface Placed extends SessionOptions {
  readonly dir: string
  /** Told before a weights file is copied, since it cannot be linked. */
  readonly onCopy: (copied: Copied) => void
}

export interface DecodingTarget {
  /** @param capacity  in tokens, those included that are read ahead */
  text(capacity: number): TargetText
  release(): Promise<void>
}

/**
 * @param layers  of the target: whose hidden states a drafter wants, in its order; or none
 * @throws        Failure `invalid`: the model does not load, or weights do not fit its config
 */
export async function openDecodingTarget(
  target: Target,
  layers: readonly number[],
  placed: Placed,
): Promise<DecodingTarget> {
  const model = await prepareModel(decodingGraph(target, layers), placed.dir, placed.onCopy)
  const session = await openSession(model, placed)
  return {
    text: (capacity) => new CachedText({ session, target, layers: layers.length, capacity }),
    release: () => session.release(),
  }
}

class CachedText implements TargetText {
  readonly #session: Session
  readonly #vocabSize: number
  readonly #hiddenWidth: number
  readonly #capacity: number
  readonly #memory: ReturnType<typeof keyValueMemory>
  #kept = 0
  #read = 0

  constructor(of: {
    readonly session: Session
    readonly target: Target
    readonly layers: number
    readonly capacity: number
  }) {
    this.#session = of.session
    this.#vocabSize = of.target.vocabSize
    this.#hiddenWidth = of.layers * of.target.hiddenSize
    this.#capacity = of.capacity
    this.#memory = keyValueMemory(of.target.config, of.capacity)
  }

  get length(): number {
    return this.#kept
  }

  async read(ids: readonly number[], want: 'all' | 'last') {
    const total = this.#kept + ids.length
    if (ids.length === 0 || total > this.#capacity) {
      const facts = `kept=${this.#kept}, read=${ids.length}, capacity=${this.#capacity}`
      throw new Failure('invalid', `a text has no room for what is read. ${facts}`)
    }
    const rows = want === 'all' ? ids.map((_, i) => i) : [ids.length - 1]
    const feeds = {
      ...this.#memory.past,
      input_ids: integers(ids, [1, ids.length]),
      rows: integers(rows, [rows.length]),
      total: integers([total], []),
    }
    const logits = new Float32Array(rows.length * this.#vocabSize)
    const hidden = new Float32Array(ids.length * this.#hiddenWidth)
    await this.#session.fill(feeds, {
      ...this.#memory.present,
      logits: { dtype: 'F32', shape: [rows.length, this.#vocabSize], data: logits },
      ...(this.#hiddenWidth > 0 && {
        hidden: { dtype: 'F32', shape: [ids.length, this.#hiddenWidth], data: hidden },
      }),
    })
    this.#read = ids.length
    return { logits: { data: logits, vocabSize: this.#vocabSize }, hidden }
  }

  /** Where the past ends is all that is moved: what lies behind is written over. */
  keep(count: number): void {
    this.#kept += Math.min(count, this.#read)
    this.#read = 0
  }
}

export const integers = (numbers: readonly number[], shape: readonly number[]): Feed => ({
  dtype: 'I64',
  shape,
  data: BigInt64Array.from(numbers, BigInt),
})
