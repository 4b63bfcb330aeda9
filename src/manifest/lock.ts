/**
 * The advisory lock of a run: one small object that its holder rewrites at every beat. It keeps two
 * supervisors from doing the same work; the data is safe without it, since the manifest is a union.
 */
import { type Clock, sleep } from '../clock.ts'
import { Failure } from '../failure.ts'
import type { ObjectStore } from '../store/store.ts'
import { timeBy } from '../store/store-time.ts'
import {
  describe,
  encodeHolder,
  type Holder,
  type LockIdentity,
  lockKey,
  type ProcessMark,
  parseHolder,
  unknownHolder,
} from './holder.ts'

/** How a lock is taken; what it must be told of store, machine and time. */
export interface LockOptions {
  readonly clock: Clock
  /** A holder whose beat is older is given up. */
  readonly ttlMs?: number
  /** How often `renew` is called, and how often a waiting start looks. */
  readonly beatMs?: number
  /** Milliseconds that a clock set back does not change. Default: the machine's. */
  readonly monotonic?: () => number
  /** Whether a process of this machine is there. */
  readonly isAlive: (holder: ProcessMark) => boolean
  /** Whether the store honours conditions, as a probe of it has shown. */
  readonly conditional: boolean
  /** Called where a start waits for another's beat, once a look. */
  readonly onWait?: (wait: LockWait) => void
  /** Called where two starts could not be told apart. */
  readonly onWarn?: (warning: string) => void
  readonly signal?: AbortSignal
}

/** Another holder that is being watched: it lives if it beats. */
export interface LockWait {
  readonly holder: Holder
  /** Until the holder is given up, if it does not move. */
  readonly leftMs: number
}

/** The run's lock, held. */
export interface ManifestLock {
  readonly beatMs: number
  /**
   * Says that the holder lives. Call it every `beatMs`; after `unavailable`, at the next beat
   * again.
   *
   * @throws Failure `superseded`: another took the run over; `invalid`: something else has taken
   *         the lock's name; `unavailable`: it cannot be read, nor told whose it is
   */
  renew(): Promise<void>
  /**
   * Call it before what cannot be undone: a holder that was suspended, or that the store did not
   * answer, may have been given up without knowing.
   *
   * @throws Failure `unavailable`: the last beat is too old to be sure, or a beat found no lock
   */
  requireFresh(): void
  /** Removes the lock where it is still ours. */
  release(): Promise<void>
}

/**
 * Takes the run's lock, waiting for a holder elsewhere to show whether it lives.
 *
 * @throws Failure `superseded`: it lives
 */
export async function acquireLock(
  store: ObjectStore,
  identity: LockIdentity,
  options: LockOptions,
): Promise<ManifestLock> {
  const lock = new Lock(store, identity, options)
  if (!options.conditional) {
    options.onWarn?.('the store ignores conditions: two starts at one moment may both hold the run')
  }
  await lock.acquire()
  return lock
}

/** A moment by two clocks: one is set by hand, the other stands still while the machine sleeps. */
interface Moment {
  readonly wall: number
  readonly monotonic: number
}

interface Sight {
  /** Of one that cannot be read: as `unknownHolder` says. */
  readonly holder: Holder
  readonly isWhole: boolean
  readonly bytes: Buffer
  readonly etag: string | undefined
  readonly lastModified: number
}

/** How often a lock may be there when it is put and gone when it is looked at. */
const unseenMax = 20

class Lock implements ManifestLock {
  readonly beatMs: number
  readonly #ttlMs: number
  readonly #store: ObjectStore
  readonly #identity: LockIdentity
  readonly #options: LockOptions
  readonly #monotonic: () => number
  #beaten: Moment | undefined
  /** What was put last, whether it is there or not. */
  #put: Buffer | undefined
  #wasGone = false

  constructor(store: ObjectStore, identity: LockIdentity, options: LockOptions) {
    this.#store = store
    this.#identity = identity
    this.#options = options
    this.#ttlMs = options.ttlMs ?? 35_000
    this.beatMs = options.beatMs ?? 10_000
    this.#monotonic = options.monotonic ?? (() => performance.now())
  }

  async acquire(): Promise<void> {
    for (let unseen = 0; unseen < unseenMax; ) {
      const sight = await this.#look()
      if (sight && !sight.isWhole) this.#options.onWarn?.(halfLock)
      const isFree = !sight || this.#isGone(sight) || (await this.#isOld(sight))
      const free = isFree ? sight : await this.#watch(sight)
      this.#options.signal?.throwIfAborted()
      // Where someone was faster, the next look says who.
      if (await this.#take(free)) return
      unseen = sight ? 0 : unseen + 1
    }
    throw noLock()
  }

  async renew(): Promise<void> {
    for (let unseen = 0; unseen < unseenMax; ) {
      const sight = await this.#look()
      if (sight && !this.#isOurs(sight)) {
        throw sight.isWhole ? superseded(sight.holder) : new Failure('unavailable', halfLock)
      }
      // Another may have taken it, done its work and removed it, all since our last beat.
      if (!sight) this.#wasGone = true
      if (await this.#take(sight)) return
      unseen = sight ? 0 : unseen + 1
    }
    throw noLock()
  }

  requireFresh(): void {
    if (this.#wasGone) {
      throw new Failure('unavailable', `the lock of the run was removed. key=${lockKey}`, {
        remedy: 'Call this again when no supervisor holds the run.',
      })
    }
    const { wall, monotonic } = this.#moment()
    const { wall: wallBefore, monotonic: before } = this.#beaten ?? { wall: 0, monotonic: 0 }
    const silentMs = Math.max(wall - wallBefore, monotonic - before)
    // One beat less: what is begun now must have ended when another may begin.
    const freshMs = this.#ttlMs - this.beatMs
    if (silentMs <= freshMs) return
    const facts = `want=${freshMs} ms at most, found=${silentMs} ms`
    throw new Failure('unavailable', `the lock of the run was not renewed in time. ${facts}`, {
      remedy: 'Call this again: the process was suspended, or the store did not answer.',
    })
  }

  async release(): Promise<void> {
    const sight = await this.#look()
    if (sight && this.#isOurs(sight)) await this.#store.remove(lockKey)
  }

  /** Follows a holder until it may be taken from. Throws where it shows that it lives. */
  async #watch(first: Sight): Promise<Sight | undefined> {
    const { clock, signal, onWait } = this.#options
    const until = this.#monotonic() + this.#ttlMs
    for (let sight = first; ; ) {
      const leftMs = until - this.#monotonic()
      if (leftMs <= 0) return first
      onWait?.({ holder: sight.holder, leftMs })
      await sleep(Math.min(this.beatMs, leftMs), clock, signal)
      const next = await this.#look()
      if (!next || this.#isOurs(next)) return next
      if (next.holder.nonce !== first.holder.nonce || next.holder.at !== first.holder.at) {
        throw superseded(next.holder)
      }
      if (this.#isGone(next)) return next
      sight = next
    }
  }

  /**
   * Whether the holder is gone for certain, as this machine can tell of its own processes.
   *
   * @throws Failure `superseded`: it lives on this machine
   */
  #isGone(sight: Sight): boolean {
    if (this.#isOurs(sight)) return true
    const { holder } = sight
    if (!this.#isOfHere(holder)) return false
    // In a container that was started again, we ourselves may bear the dead one's number.
    if (holder.pid === this.#identity.pid || !this.#options.isAlive(holder)) return true
    // Alive but silent: stuck, or another process that was given its number.
    if (this.#seemsSilent(sight)) return false
    throw superseded(holder)
  }

  /**
   * Whether a holder elsewhere has been silent for long. By the store's clock: ours may be ahead of
   * all others, and a holder that lives would seem old by it.
   */
  async #isOld(sight: Sight): Promise<boolean> {
    if (this.#isOfHere(sight.holder) || !this.#seemsSilent(sight)) return false
    const now = await timeBy(this.#store)
    return now !== undefined && now - sight.lastModified >= this.#ttlMs
  }

  /** By the younger of two moments: the holder's clock may be behind, or the store's. */
  #seemsSilent({ holder, lastModified }: Sight): boolean {
    return this.#options.clock.now() - Math.max(holder.at, lastModified) >= this.#ttlMs
  }

  /** Containers on one machine may share its name, and each counts processes by itself. */
  #isOfHere({ host, bootId, pidSpace }: Holder): boolean {
    const { host: here, bootId: boot, pidSpace: space } = this.#identity
    return host === here && bootId === boot && pidSpace === space
  }

  /** Writes our beat in place of what was seen. False where another wrote since. */
  async #take(sight: Sight | undefined): Promise<boolean> {
    // Before the put: others count from what it says, however late it is written.
    const moment = this.#moment()
    const taken = await this.#write(sight, moment.wall)
    if (taken) this.#beaten = moment
    return taken
  }

  async #write(sight: Sight | undefined, at: number): Promise<boolean> {
    const bytes = encodeHolder({ ...this.#identity, at })
    this.#put = bytes
    if (!this.#options.conditional || (sight && sight.etag === undefined)) {
      await this.#store.put(lockKey, bytes)
      return true
    }
    const taken =
      sight?.etag === undefined
        ? await this.#store.putIfAbsent(lockKey, bytes)
        : await this.#store.putIfMatch(lockKey, bytes, sight.etag)
    if (taken) return true
    // A try whose answer was lost may have written it: then it bears our mark.
    const found = await this.#look()
    return found !== undefined && this.#isOurs(found)
  }

  /**
   * The etag first: what is read after it is the same lock or a later one, which no put replaces.
   */
  async #look(): Promise<Sight | undefined> {
    const info = await this.#store.head(lockKey)
    const bytes = info && (await this.#store.get(lockKey))
    if (!info || !bytes) return undefined
    const { etag, lastModified } = info
    const whole = parseHolder(bytes)
    const holder = whole ?? unknownHolder(bytes, lastModified)
    return { holder, isWhole: whole !== undefined, bytes, etag, lastModified }
  }

  #moment(): Moment {
    return { wall: this.#options.clock.now(), monotonic: this.#monotonic() }
  }

  /** A store may have kept half of what we put: it is ours as the whole is. */
  #isOurs({ bytes, holder, isWhole }: Sight): boolean {
    if (isWhole) return holder.nonce === this.#identity.nonce
    return bytes.length > 0 && bytes.equals(this.#put?.subarray(0, bytes.length) ?? emptyBytes)
  }
}

const emptyBytes = Buffer.alloc(0)

const halfLock = `the lock of the run cannot be read, as a crash may leave it. key=${lockKey}`

const noLock = (): Failure =>
  new Failure('invalid', `something that is no lock bears its name. key=${lockKey}`, {
    remedy: `Look what the store holds there, a folder perhaps, and remove it.`,
  })

const superseded = (holder: Holder): Failure =>
  new Failure('superseded', `another supervisor holds this run. ${describe(holder)}`, {
    remedy: `Stop it, or go on with it. If it is certainly gone, remove ${lockKey} from the store.`,
  })
