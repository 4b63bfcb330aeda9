import { type Clock, systemClock } from '../src/clock.ts'

/** One thing lent to one holder. */
export interface Leased<T> {
  readonly id: number
  readonly item: T
  readonly holder: string
}

/**
 * Ids of different generations of an actor never meet: a holder may tell the new one what became of
 * a lease of the old one.
 */
export const firstIdOf = (generation: number): number => generation * 2 ** 32 + 1

interface Waiter<T> {
  readonly holder: string
  readonly settle: (lease: Leased<T> | undefined) => void
}

/**
 * Things waiting for whoever asks, and who holds which. What a holder had when it ended goes to the
 * head of the queue: only the owner of this book lends it again.
 */
export class LeaseBook<T> {
  readonly #clock: Clock
  readonly #queue: T[] = []
  #head = 0
  readonly #leases = new Map<number, Leased<T>>()
  readonly #waiters: Waiter<T>[] = []
  #nextId: number

  constructor(firstId: number, clock: Clock = systemClock) {
    this.#nextId = firstId
    this.#clock = clock
  }

  get waiting(): number {
    return this.#queue.length - this.#head
  }

  /** All that came and is not done: those that wait, and those that are leased. */
  get unsettled(): number {
    return this.waiting + this.leased
  }

  get leased(): number {
    return this.#leases.size
  }

  /** Lends it at once where someone waits. */
  add(item: T): void {
    this.#queue.push(item)
    this.#serve()
  }

  /** Lends the oldest to the holder; undefined where there is none now. */
  take(holder: string): Leased<T> | undefined {
    if (this.waiting === 0) return undefined
    const lease = { id: this.#nextId++, item: this.#take(), holder }
    this.#leases.set(lease.id, lease)
    return lease
  }

  /** The same; after `waitMs` without one (0: at once), undefined. */
  lease(holder: string, waitMs: number): Promise<Leased<T> | undefined> {
    // Where something waits, nobody else waits for it.
    const lease = this.take(holder)
    if (lease || waitMs <= 0) return Promise.resolve(lease)
    return new Promise((resolve) => {
      const timer = this.#clock.setTimeout(() => waiter.settle(undefined), waitMs)
      const waiter: Waiter<T> = {
        holder,
        settle: (lease) => {
          this.#clock.clearTimeout(timer)
          const at = this.#waiters.indexOf(waiter)
          if (at >= 0) this.#waiters.splice(at, 1)
          resolve(lease)
        },
      }
      this.#waiters.push(waiter)
    })
  }

  /** It is done: undefined where it was so before, or came back meanwhile. */
  settle(id: number): T | undefined {
    const lease = this.#leases.get(id)
    this.#leases.delete(id)
    return lease?.item
  }

  /** It is not done: it goes to the end of the queue. */
  giveBack(id: number): void {
    const item = this.settle(id)
    if (item !== undefined) this.add(item)
  }

  /** Answers the holder's waiting questions with nothing. */
  wake(holder: string): void {
    for (const waiter of this.#waiters.filter((w) => w.holder === holder)) waiter.settle(undefined)
  }

  /** Takes back all that the holder had, and answers its questions with nothing. */
  holderEnded(holder: string): void {
    this.wake(holder)
    const returned = [...this.#leases.values()].filter((lease) => lease.holder === holder)
    for (const lease of returned) this.#leases.delete(lease.id)
    this.#queue.splice(0, this.#head, ...returned.map((lease) => lease.item))
    this.#head = 0
    this.#serve()
  }

  #serve(): void {
    while (this.waiting > 0 && this.#waiters.length > 0) {
      const waiter = this.#waiters[0]
      waiter.settle(this.take(waiter.holder))
    }
  }

  #take(): T {
    const item = this.#queue[this.#head++]
    // The consumed head is cut off now and then, so that taking stays cheap however long the queue.
    if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
      this.#queue.splice(0, this.#head)
      this.#head = 0
    }
    return item
  }
}
