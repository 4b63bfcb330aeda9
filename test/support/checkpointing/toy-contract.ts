import { request } from '../../../protocol/contract.ts'
import { trainerContract } from '../../../protocol/trainer.ts'

/** A trainer that learns nothing of use, and is as particular about its state as a real one. */

export interface ToyInput {
  readonly training: string
  /** Float32 values of its one large parameter. */
  readonly size: number
  /** Each step appends a line here. */
  readonly notes: string
}

/** What a step was like; the same for the same step of every life. */
export interface ToyStep {
  readonly step: number
  readonly lr: number
  readonly loss: number
}

export interface ToyStanding {
  readonly step: number
  /** The step of the checkpoint that it began with; 0: it had none. */
  readonly restoredAt: number
  /** Of all parameters and moments, in hex. */
  readonly sha256: string
}

export const toyContract = {
  state: trainerContract.state,
  /** Settles when so many steps are done, counted from the training's beginning, or it drains. */
  trainTo: request<number, void>({ withinMs: 120_000 }),
  standing: request<void, ToyStanding>(),
}
