import { setImmediate as turn } from 'node:timers/promises'
import { type Clock, SimulatedClock } from '../../../src/clock.ts'
import { type LockIdentity, lockKey } from '../../../src/manifest/holder.ts'
import { acquireLock, type LockOptions, type LockWait } from '../../../src/manifest/lock.ts'
import { MemoryStore } from '../../../src/store/memory.ts'

/** Starts of supervisors that want one lock, in simulated time. */

let starts = 0
export const start = (of: Partial<LockIdentity> = {}): LockIdentity => ({
  writer: `w${++starts}`,
  host: 'here',
  bootId: 'boot-1',
  pid: 100 + starts,
  nonce: `nonce-${starts}`,
  ...of,
})

/**
 * A store, a clock that starts with the store's, and a machine on which the given processes live.
 */
export function rig(
  alive: readonly number[] = [],
  storeOn = (clock: Clock) => new MemoryStore({ clock }),
) {
  const clock = new SimulatedClock(Date.now())
  const store = storeOn(clock)
  const waits: LockWait[] = []
  const warnings: string[] = []
  const options: LockOptions = {
    clock,
    monotonic: () => clock.now(),
    isAlive: ({ pid }) => alive.includes(pid),
    conditional: true,
    onWait: (wait) => waits.push(wait),
    onWarn: (warning) => warnings.push(warning),
  }
  const acquire = (identity: LockIdentity, more: Partial<LockOptions> = {}) =>
    acquireLock(store, identity, { ...options, ...more })
  const holder = async (): Promise<unknown> => JSON.parse(String(await store.get(lockKey)))
  return { clock, store, waits, warnings, acquire, holder }
}

/** Its timers, for a clock that shows another time. */
export const clockOf = (clock: SimulatedClock): Clock => ({
  now: () => clock.now(),
  setTimeout: (fn, ms) => clock.setTimeout(fn, ms),
  clearTimeout: (timer) => clock.clearTimeout(timer),
})

/** Lets simulated time pass until the promise settles. */
export async function passing<T>(clock: SimulatedClock, promise: Promise<T>): Promise<T> {
  let settled = false
  const watched = promise.finally(() => {
    settled = true
  })
  watched.catch(() => undefined)
  for (let ms = 0; !settled && ms < 120_000; ms += 500) {
    for (let i = 0; i < 10; i++) await turn()
    if (!settled) clock.advance(500)
  }
  return watched
}
