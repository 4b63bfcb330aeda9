/** What a training carries to its device and from it, and how long that takes. */
import { drafterTensors } from '../models/drafter-tensors.ts'
import type { StoredDType } from '../models/hidden-states.ts'
import type { FlatTensors } from '../optim/flat.ts'
import type { Feed, Feeds } from '../session/feed.ts'
import { type Movable, openMoving, readName } from '../session/moving.ts'
import { drop, type Held, type ResidentSession } from '../session/resident-session.ts'
import { bfloat16ToFloat32 } from '../tensor/bfloat16.ts'
import { float16ToFloat32 } from '../tensor/float16.ts'
import { type MicroBatch, sessionOptions } from './engine.ts'
import { frozenOf } from './frozen-feeds.ts'
import type { LearnerParts } from './learner.ts'
import { Once } from './once.ts'
import { stateNames, stateRegions } from './step-graph.ts'

/** The large ones of a batch, whatever its shape. */
const states = ['hidden', 'final']

export class Carrier {
  readonly #parts: LearnerParts
  readonly #tensors: FlatTensors
  readonly #up: Once<ResidentSession>
  readonly #down: Once<ResidentSession>
  readonly #batch: Once<ResidentSession>
  readonly #frozen: Once<{ readonly session: ResidentSession; readonly held: Held }>

  constructor(parts: LearnerParts, tensors: FlatTensors) {
    const options = sessionOptions(parts)
    const trained = drafterTensors(parts.drafter).map((one) => ({ ...one, dtype: 'F32' }) as const)
    const feeds = frozenOf(parts)
    this.#parts = parts
    this.#tensors = tensors
    this.#up = new Once(() => openMoving(trained, 'device', options))
    this.#down = new Once(() => openMoving(trained, 'host', options))
    this.#batch = new Once(() => openMoving(this.#ofBatch(), 'device', options))
    this.#frozen = new Once(async () => {
      const all = Object.entries(feeds).map(([name, { dtype, shape }]) => ({ name, dtype, shape }))
      const session = await openMoving(all, 'device', options)
      return { session, held: (await session.run(feeds)).held }
    })
  }

  /** Milliseconds. */
  get ms(): number {
    return this.#sessions().reduce((sum, { spent }) => sum + spent.ms, 0)
  }

  /** Parameters and moments to the device: `stateNames` has their names. */
  async up(): Promise<Held> {
    const session = await this.#up.get()
    const all: Record<string, Held[string]> = {}
    for (const region of stateRegions) {
      const feeds = this.#trained((name, shape) => [name, this.#feed(region, name, shape)])
      const { held } = await session.run(feeds)
      for (const [name, tensor] of Object.entries(held)) all[stateNames[region](name)] = tensor
    }
    return all
  }

  /** And back, into the memory they came from: a third at a time. */
  async down(state: Held): Promise<void> {
    const session = await this.#down.get()
    for (const region of stateRegions) {
      const held = this.#trained((name) => [name, state[stateNames[region](name)]])
      const { read } = await session.run({}, held)
      for (const { name, view } of this.#tensors.places) {
        const { data } = read[readName(name)]
        if (data instanceof Float32Array) view(region).set(data)
      }
    }
  }

  /** What was frozen stays there. */
  async frozen(): Promise<Held> {
    return (await this.#frozen.get()).held
  }

  /** @returns  `carried`: its hidden states, widened; they are the caller's to drop */
  async batch({
    dtype,
    feeds,
  }: MicroBatch): Promise<{ readonly small: Feeds; readonly carried: Held }> {
    const all = Object.entries(feeds)
    const isState = ([name]: readonly [string, Feed]) => states.includes(name)
    const large = all.filter(isState).map(([name, feed]) => [name, widened(feed, dtype)])
    const { held: carried } = await (await this.#batch.get()).run(Object.fromEntries(large))
    return { small: Object.fromEntries(all.filter((one) => !isState(one))), carried }
  }

  async release(): Promise<void> {
    if (this.#frozen.made) drop(this.#frozen.made.held)
    for (const session of this.#sessions()) await session.release()
  }

  #sessions(): ResidentSession[] {
    const made = [this.#up, this.#down, this.#batch].map((one) => one.made)
    return [...made, this.#frozen.made?.session].flatMap((session) => session ?? [])
  }

  #ofBatch(): Movable[] {
    const { distillation } = this.#parts.options
    return (distillation ? states : states.slice(0, 1)).map((name) => {
      return { name, dtype: 'F32', shape: ['rows', 'tokens', `${name}:width`] }
    })
  }

  #trained<T>(entry: (name: string, shape: readonly number[]) => readonly [string, T]) {
    const tensors = drafterTensors(this.#parts.drafter)
    return Object.fromEntries(tensors.map(({ name, shape }) => entry(name, shape)))
  }

  #feed(region: (typeof stateRegions)[number], name: string, shape: readonly number[]): Feed {
    return { dtype: 'F32', shape, data: this.#tensors.view(region, name) }
  }
}

/** 16-bit floats have no way to this device but as float32. */
function widened(feed: Feed, dtype: StoredDType): Feed {
  if (feed.dtype !== 'U16') return feed
  const { shape, data } = feed
  const wide = dtype === 'bf16' ? bfloat16ToFloat32(data) : float16ToFloat32(data)
  return { dtype: 'F32', shape, data: wide }
}
