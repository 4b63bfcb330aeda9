import { type Clock, type Random, seededRandom } from '../../src/clock.ts'

/**
 * Simulated time, and who lives in it. One queue of events, in order of their moment and then of
 * their making; whatever waits belongs to a life, and of one that has ended nothing ever settles:
 * so a crash between two events is a crash at an await.
 */

/** What the queue holds; `life` is whose wait it is, null: the world's own. */
interface Planned {
  readonly at: number
  readonly order: number
  readonly life: Life | null
  readonly run: () => void
  dropped: boolean
}

/** What ends a wait, and is told to nobody: code of a dead life that goes on regardless. */
export class Halted extends Error {
  constructor() {
    super('this life has ended')
  }
}

/** One start of an actor, or of a process with all that it carries. */
export class Life {
  readonly name: string
  readonly world: World
  readonly parent: Life | null
  readonly children = new Set<Life>()
  readonly clock: Clock
  readonly random: Random
  /** Called once, after its end; with what it threw. */
  readonly #atEnd: ((error: unknown) => void)[] = []
  endedAt: number | null = null
  /** It lives, and does and hears nothing any more: as in a loop without an end. */
  hangs = false

  constructor(world: World, name: string, parent: Life | null = null) {
    this.world = world
    this.name = name
    this.parent = parent
    this.random = seededRandom(world.draw() * 2 ** 32)
    this.clock = {
      now: () => world.now,
      setTimeout: (fn, ms) => world.plan(Math.max(ms, 0), this, fn),
      clearTimeout: (timer) => drop(timer),
    }
    parent?.children.add(this)
  }

  get alive(): boolean {
    return this.endedAt === null
  }

  onEnd(told: (error: unknown) => void): void {
    this.#atEnd.push(told)
  }

  /** The one that carries all others. */
  get root(): Life {
    return this.parent?.root ?? this
  }

  /** Nothing of it ever happens again; what it carries ends with it. */
  end(how: string, error?: unknown): void {
    if (!this.alive) return
    for (const child of [...this.children].reverse()) child.end(`with ${this.name}`)
    this.endedAt = this.world.now
    this.parent?.children.delete(this)
    this.world.tell(() => `${this.name} ends: ${how}`)
    for (const told of this.#atEnd.splice(0)) told(error)
  }
}

const drop = (timer: unknown): void => {
  if (timer !== undefined) (timer as Planned).dropped = true
}

export class World {
  /** Milliseconds since the epoch, as everybody here believes. */
  now = Date.UTC(2026, 10, 5)
  /** Events so far, and moments at which something outside was asked. */
  steps = 0
  /** Whose event runs. */
  current: Life | null = null
  readonly draw: Random
  readonly #queue: Planned[] = []
  #order = 0
  readonly #listen: ((line: string) => void) | undefined
  /** Called at each step. */
  onStep: () => void = () => undefined

  constructor(seed: number, listen?: (line: string) => void) {
    this.draw = seededRandom(seed)
    this.#listen = listen
  }

  /** A line of the event log: made where somebody reads it. */
  tell(line: () => string): void {
    this.#listen?.(`${this.now} ${line()}`)
  }

  /** Nothing more happens. */
  close(): void {
    this.#queue.length = 0
  }

  plan(ms: number, life: Life | null, run: () => void): Planned {
    const planned = { at: this.now + ms, order: this.#order++, life, run, dropped: false }
    push(this.#queue, planned)
    return planned
  }

  /** A whole number below `end`. */
  below(end: number): number {
    return Math.floor(this.draw() * end)
  }

  /** Someone asks for something outside of itself: a crash may come here too. */
  step(life: Life | null): void {
    this.steps++
    this.onStep()
    if (life && !life.alive) throw new Halted()
  }

  /** Runs the next event; false where there is none. Its promises settle before the next. */
  next(): boolean {
    for (let planned = pop(this.#queue); planned; planned = pop(this.#queue)) {
      if (planned.dropped || planned.life?.alive === false) continue
      this.now = Math.max(this.now, planned.at)
      this.as(planned.life, () => {
        this.step(planned.life)
        planned.run()
      })
      return true
    }
    return false
  }

  /** Whatever is thrown in this event, now or by a promise, is this life's. */
  as(life: Life | null, work: () => void): void {
    if (life?.hangs) return
    this.current = life
    try {
      work()
    } catch (error) {
      this.died(life, error)
    }
  }

  /** An error that nobody caught ends whose it is. */
  died(life: Life | null, error: unknown): void {
    if (error instanceof Halted || life?.alive === false) return
    if (life === null) throw error
    life.end(`threw ${error}`, error)
  }
}

/** A heap: the earliest first. */
const before = (a: Planned, b: Planned): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order)

function push(heap: Planned[], item: Planned): void {
  let at = heap.push(item) - 1
  while (at > 0) {
    const above = (at - 1) >> 1
    if (!before(item, heap[above])) break
    heap[at] = heap[above]
    at = above
  }
  heap[at] = item
}

function pop(heap: Planned[]): Planned | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (first === undefined || last === undefined || heap.length === 0) return first
  let at = 0
  for (;;) {
    const left = 2 * at + 1
    if (left >= heap.length) break
    const right = left + 1
    const least = right < heap.length && before(heap[right], heap[left]) ? right : left
    if (!before(heap[least], last)) break
    heap[at] = heap[least]
    at = least
  }
  heap[at] = last
  return first
}
