import { Failure } from '../../src/failure.ts'
import { eachRequest } from '../../src/store/each-request.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Acknowledgement, Body, ObjectStore, PutOptions } from '../../src/store/store.ts'
import { Throttled } from '../../src/store/throttled.ts'
import type { Life, World } from './world.ts'

/** A store behind a simulated line. What has come to it happens, whoever awaits the answer. */

/** What becomes of one request. */
export type RequestFault =
  /** It never comes there. */
  | 'lost'
  /** It happens; its answer never comes. */
  | 'answer lost'
  /** It happens long after its asker has given up. */
  | 'late'
  /** It happens, is answered, and happens once more later. */
  | 'twice'
  | 'SlowDown'
  /** Of a body the store keeps a part, and says 200. */
  | 'half kept'

/** What the store tells of what it has taken. */
export type Acknowledges = 'checksum' | 'etag' | 'nothing'

const lineMaxMs = 15
const patienceMs = 5_000
const lateMaxMs = 60_000

/** What an object becomes, by whose request. */
interface Change {
  readonly bytes: Buffer | undefined
  readonly by: Life | null
}

/** What the world sees of a request. */
export interface Seen {
  readonly life: Life
  readonly what: string
  readonly key: string
}

export class SimulatedStore {
  readonly #world: World
  readonly objects: MemoryStore
  readonly acknowledges: Acknowledges
  /** By the number of the request, of all. */
  readonly #faults: ReadonlyMap<number, RequestFault>
  #requests = 0
  /** Until then it answers nobody. */
  awayUntil = 0
  /** Objects of which it keeps half, and nobody has put them whole since. */
  readonly halves = new Set<string>()
  /** Who waits for an answer, or would. */
  readonly open = new Set<Life[]>()
  /** An object has changed: its bytes now; undefined: it is gone. */
  onChange: (key: string, bytes: Buffer | undefined, by: Life | null) => void = () => undefined
  onAsk: (seen: Seen) => void = () => undefined

  constructor(
    world: World,
    options: {
      readonly acknowledges: Acknowledges
      readonly faults: ReadonlyMap<number, RequestFault>
    },
  ) {
    this.#world = world
    this.acknowledges = options.acknowledges
    this.#faults = options.faults
    const clock = { now: () => world.now, setTimeout: never, clearTimeout: never }
    this.objects = new MemoryStore({ clock })
  }

  /** As one who lives asks it. */
  for(life: Life): ObjectStore {
    const ask = <T>(what: string, key: string, work: Work<T>) =>
      this.#request({ life, what, key }, work)
    const { objects } = this
    const options = (half: boolean, given: PutOptions = {}) => (half || !this.#sums ? {} : given)
    const wrapped: ObjectStore = {
      ...eachRequest(objects, (work) => ask('asks', '', () => work())),
      put: (key, body, given) => {
        const sent = bytesOf(body)
        return ask('puts', key, async (half) => {
          const kept = half ? sent.subarray(0, sent.length >> 1) : sent
          const said = await objects.put(key, kept, options(half, given))
          this.#halved(key, half)
          this.#changed(key, 'puts', { bytes: kept, by: life })
          return this.#said(said)
        })
      },
      putIfAbsent: (key, body, given) => {
        const sent = bytesOf(body)
        return ask('puts new', key, async (half) => {
          const kept = half ? sent.subarray(0, sent.length >> 1) : sent
          const taken = await objects.putIfAbsent(key, kept, options(half, given))
          if (taken) this.#halved(key, half)
          if (taken) this.#changed(key, 'puts new', { bytes: kept, by: life })
          return taken
        })
      },
      putIfMatch: (key, body, etag, given) => {
        const sent = bytesOf(body)
        return ask('puts match', key, async () => {
          const taken = await objects.putIfMatch(key, sent, etag, options(false, given))
          if (taken) this.#changed(key, 'puts match', { bytes: sent, by: life })
          return taken
        })
      },
      get: (key, range) => ask('gets', key, () => objects.get(key, range)),
      head: (key) =>
        ask('heads', key, async () => {
          const info = await objects.head(key)
          if (!info || this.#sums) return info
          const { crc32: _, ...rest } = info
          return rest
        }),
      listPage: (page) => ask('lists', page.prefix, () => objects.listPage(page)),
      remove: (key) =>
        ask('removes', key, async () => {
          await objects.remove(key)
          this.#changed(key, 'removes', { bytes: undefined, by: life })
        }),
      close: () => undefined,
    }
    // Each page is a request of its own.
    return eachRequest(wrapped, (work) => work())
  }

  get #sums(): boolean {
    return this.acknowledges === 'checksum'
  }

  #said(said: Acknowledgement): Acknowledgement {
    if (this.acknowledges === 'nothing') return {}
    return this.acknowledges === 'etag' && said.etag !== undefined ? { etag: said.etag } : said
  }

  #changed(key: string, what: string, { bytes, by }: Change): void {
    this.#world.tell(() => `store: ${what} ${masked(key)}`)
    this.onChange(key, bytes, by)
  }

  #halved(key: string, half: boolean): void {
    if (half) this.halves.add(key)
    else this.halves.delete(key)
  }

  /** A person removes this half of an object. */
  removeHalf(key: string): void {
    this.halves.delete(key)
    void this.objects.remove(key)
    this.#changed(key, 'is rid of', { bytes: undefined, by: null })
  }

  #request<T>(seen: Seen, work: Work<T>): Promise<T> {
    const { life } = seen
    this.#world.step(life)
    const fault = this.#world.now < this.awayUntil ? 'lost' : this.#faults.get(this.#requests)
    this.#requests++
    if (fault)
      this.#world.tell(() => `line: ${life.name} ${seen.what} ${masked(seen.key)}: ${fault}`)
    const mark = [life]
    this.open.add(mark)
    this.onAsk(seen)
    return new Promise<T>((resolve, reject) => {
      const over = (settle: () => void) => {
        this.open.delete(mark)
        settle()
      }
      this.#carry(seen, { work, fault, over, resolve, reject })
    })
  }

  #carry<T>(seen: Seen, { work, fault, over, resolve, reject }: Carried<T>): void {
    const world = this.#world
    const answer = (ms: number, settle: () => void) => {
      world.plan(ms, seen.life, () => over(settle))
    }
    if (fault === 'SlowDown') {
      answer(this.#away(), () => reject(slowDown()))
      return
    }
    const isSilent = fault === 'lost' || fault === 'answer lost' || fault === 'late'
    if (isSilent) answer(fault === 'lost' ? this.#away() : patienceMs, () => reject(noAnswer(seen)))
    if (fault === 'lost') return
    const happen = (answers: boolean) => {
      const told = (settle: () => void) => answers && answer(this.#away(), settle)
      work(fault === 'half kept' && isMended(seen.key)).then(
        (value) => told(() => resolve(value)),
        (error: unknown) => told(() => reject(error)),
      )
    }
    const awayMs = fault === 'late' ? patienceMs + world.draw() * lateMaxMs : this.#away()
    world.plan(awayMs, null, () => happen(!isSilent))
    if (fault === 'twice') world.plan(awayMs + world.draw() * lateMaxMs, null, () => happen(false))
  }

  #away(): number {
    return this.#world.draw() * lineMaxMs
  }

  /** Requests that a process has open: those of a life that has ended are closed. */
  openOf(isOurs: (life: Life) => boolean): number {
    let open = 0
    for (const mark of this.open) {
      if (!mark[0].alive) this.open.delete(mark)
      else if (isOurs(mark[0])) open++
    }
    return open
  }
}

type Work<T> = (half: boolean) => Promise<T>

/**
 * What the next start mends, should a crash come before it is proved. Half a note of how far the
 * manifest is written, half a run.json and half a lock stop it instead, and say what to remove.
 */
const isMended = (key: string): boolean =>
  ['hidden-states/', 'manifest/segments/', 'config.yaml', 'dataset/index.json'].some((prefix) =>
    key.startsWith(prefix),
  )

interface Carried<T> {
  readonly work: Work<T>
  readonly fault: RequestFault | undefined
  readonly over: (settle: () => void) => void
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

/** As it leaves: whoever sent it may write other bytes there once it has an answer. */
function bytesOf(body: Body): Buffer {
  if (!(body instanceof Uint8Array)) throw new Error('a simulated body lies in memory')
  return Buffer.from(body)
}

/** Chance makes these names, and nothing follows from them. */
export const masked = (key: string): string =>
  key.replace(/^probe\/.*/, 'probe/…').replace(/-[0-9a-f]{12}(?=[/.])/, '-…')

const noAnswer = ({ what, key }: Seen): Failure =>
  new Failure('unavailable', `the store did not answer in time. request=${what}, key=${key}`)

const slowDown = (): Failure => new Throttled('SlowDown', { retryAfterMs: 0 })

const never = (): never => {
  throw new Error('a store sets no timer')
}
