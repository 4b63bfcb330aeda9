/** The training graphs of one drafter, opened when their shape is first asked for. */
import type { StoredDType } from '../models/hidden-states.ts'
import { openTrainingSession, type TrainingSession } from '../session/training-session.ts'
import type { BatchShape } from './block-rows.ts'
import type { LearnerParts } from './learner.ts'
import { lossGraph } from './loss-graph.ts'

/** Each holds what onnxruntime computed in: the least used goes before there are more. */
const openMax = 24

export interface GraphOf {
  readonly shape: BatchShape
  readonly dtype: StoredDType
  /** With gradients; otherwise the loss alone. */
  readonly learns: boolean
}

export class GraphsByShape {
  readonly #parts: LearnerParts
  /** The last used is last. */
  readonly #open = new Map<string, TrainingSession>()
  #closedMs = 0

  constructor(parts: LearnerParts) {
    this.#parts = parts
  }

  get insideMs(): number {
    return [...this.#open.values()].reduce((sum, { spent }) => sum + spent.ms, this.#closedMs)
  }

  async of({ shape, dtype, learns }: GraphOf): Promise<TrainingSession> {
    const key = `${shape.rows}x${shape.tokens}x${shape.blocks} ${dtype} ${learns}`
    const session = this.#open.get(key) ?? (await this.#make({ shape, dtype, learns }))
    this.#open.delete(key)
    this.#open.set(key, session)
    return session
  }

  async release(): Promise<void> {
    for (const key of [...this.#open.keys()]) await this.#close(key)
  }

  async #make({ shape, dtype, learns }: GraphOf): Promise<TrainingSession> {
    const [oldest] = this.#open.keys()
    if (this.#open.size >= openMax && oldest !== undefined) await this.#close(oldest)
    const { drafter, options, tiedEmbeddings } = this.#parts
    const { chunkBytes, recompute, distillation } = options
    const settings = { shape, dtype, tiedEmbeddings, chunkBytes, recompute, learns, distillation }
    return await openTrainingSession(
      lossGraph(drafter, { ...settings, frozen: 'inputs' }),
      this.#parts,
    )
  }

  async #close(key: string): Promise<void> {
    const session = this.#open.get(key)
    this.#open.delete(key)
    this.#closedMs += session?.spent.ms ?? 0
    await session?.release()
  }
}
