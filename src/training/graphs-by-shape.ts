/** The training graphs of one drafter, opened when their shape is first asked for. */
import type { StoredDType } from '../models/hidden-states.ts'
import type { BatchShape } from './block-rows.ts'
import type { LearnerParts } from './learner.ts'
import type { LossGraphOptions } from './loss-graph.ts'

/** Each holds what onnxruntime computed in: the least used goes before there are more. */
const openMax = 24

export interface GraphOf {
  readonly shape: BatchShape
  readonly dtype: StoredDType
  /** The loss alone; its gradients; or a step with them, of so many batches at once. */
  readonly does: 'judge' | 'gradients' | `step of ${number}`
}

interface Opened {
  readonly spent: { readonly ms: number }
  release(): Promise<void>
}

export class GraphsByShape<S extends Opened> {
  readonly #open: (of: GraphOf) => Promise<S>
  /** The last used is last. */
  readonly #opened = new Map<string, S>()
  #closedMs = 0

  constructor(open: (of: GraphOf) => Promise<S>) {
    this.#open = open
  }

  get insideMs(): number {
    return [...this.#opened.values()].reduce((sum, { spent }) => sum + spent.ms, this.#closedMs)
  }

  async of({ shape, dtype, does }: GraphOf): Promise<S> {
    const key = `${shape.rows}x${shape.tokens}x${shape.blocks} ${dtype} ${does}`
    const session = this.#opened.get(key) ?? (await this.#make({ shape, dtype, does }))
    this.#opened.delete(key)
    this.#opened.set(key, session)
    return session
  }

  async release(): Promise<void> {
    for (const key of [...this.#opened.keys()]) await this.#close(key)
  }

  async #make(of: GraphOf): Promise<S> {
    const [oldest] = this.#opened.keys()
    if (this.#opened.size >= openMax && oldest !== undefined) await this.#close(oldest)
    return await this.#open(of)
  }

  async #close(key: string): Promise<void> {
    const session = this.#opened.get(key)
    this.#opened.delete(key)
    this.#closedMs += session?.spent.ms ?? 0
    await session?.release()
  }
}

/** What a learner's graph of one kind is built with. */
export function lossSettings(
  { options, tiedEmbeddings }: LearnerParts,
  { shape, dtype, does }: GraphOf,
): LossGraphOptions {
  const { chunkBytes, recompute, distillation } = options
  const learns = does !== 'judge'
  const settings = { shape, dtype, tiedEmbeddings, chunkBytes, recompute, learns, distillation }
  return { ...settings, frozen: 'inputs' }
}
