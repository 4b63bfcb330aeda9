import { once } from 'node:events'
import { MessageChannel, Worker } from 'node:worker_threads'
import { connect } from '../../protocol/channel.ts'
import type { Client } from '../../protocol/contract.ts'
import { type Chunk, type Failing, type Found, searchContract } from './search.ts'

/** Seeds spread over threads. What comes of them is the same whatever their number. */

/** Seeds that a thread takes at once: a second or less. */
const chunkSeeds = 8
/** Most of what a simulation makes dies young: with room for it, little is looked at twice. */
const limits = { maxYoungGenerationSizeMb: 96, maxOldGenerationSizeMb: 2048 }

interface Thread {
  readonly worker: Worker
  readonly asked: Client<typeof searchContract>
}

export class Pool {
  readonly #threads: readonly Thread[]

  constructor(size: number) {
    this.#threads = Array.from({ length: size }, threadOf)
  }

  /**
   * Of these seeds, to the lowest that breaks a promise: the sums are then of no use.
   *
   * @param progress  called after each chunk, with the sums so far
   */
  async search(
    seeds: Chunk,
    progress: (seeds: number, sum: Found) => void = () => undefined,
  ): Promise<Found> {
    let [next, done] = [seeds.from, 0]
    let sum: Found = { crashes: 0, steps: 0, failing: null }
    const work = async ({ asked }: Thread) => {
      while (next < seeds.to && !sum.failing) {
        const from = next
        next = Math.min(from + chunkSeeds, seeds.to)
        const chunk = { ...seeds, from, to: next }
        const found = await asked.search(chunk)
        sum = added(sum, found)
        done += chunk.to - chunk.from
        progress(done, sum)
      }
    }
    await Promise.all(this.#threads.map(work))
    return sum
  }

  async tell({ seed }: Failing, part: string | null): Promise<string[]> {
    return (await this.#threads[0]?.asked.tell({ seed, part })) ?? []
  }

  /** Names of the faulty ones. */
  async parts(): Promise<string[]> {
    return (await this.#threads[0]?.asked.parts()) ?? []
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#threads.map(async ({ asked, worker }) => {
        const ended = once(worker, 'exit')
        await asked.close()
        await ended
      }),
    )
  }
}

function threadOf(): Thread {
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(new URL('./thread.js', import.meta.url), {
    workerData: port2,
    transferList: [port2],
    resourceLimits: limits,
  })
  return { worker, asked: connect(port1, searchContract, { peer: 'a thread that simulates' }) }
}

/** The lower of two seeds that fail is the first. */
const added = (sum: Found, found: Found): Found => ({
  crashes: sum.crashes + found.crashes,
  steps: sum.steps + found.steps,
  failing: first(sum.failing, found.failing),
})

const first = (a: Failing | null, b: Failing | null): Failing | null =>
  a && b ? (a.seed < b.seed ? a : b) : (a ?? b)
