import type { TestContext } from 'node:test'
import type { ChildSpec, Death, SupervisorSpec } from '../../protocol/child.ts'
import { seededRandom, systemClock } from '../../src/clock.ts'
import type { Failure } from '../../src/failure.ts'
import { type LogTarget, openLog } from '../../src/log.ts'
import type { TreeEvent } from '../../supervisors/engine/events.ts'
import { supervise, type Tree } from '../../supervisors/engine/tree.ts'
import { newCounts, type PuppetInput } from './actors/puppet-contract.ts'

/** Trees of real threads, for tests. */

type Overrides = Partial<Omit<ChildSpec, 'id' | 'entry' | 'input'>>

const child: Omit<ChildSpec, 'id' | 'entry' | 'input'> = {
  asks: [],
  restart: 'always',
  readyMs: 20_000,
  drainMs: 10_000,
  drainsAfter: [],
  // Far apart: a machine that is busy with other tests must not look like a dead thread.
  heartbeatMs: 20_000,
}

export const puppet = (
  id = 'puppet',
  overrides: Overrides & { readonly input?: Partial<PuppetInput> } = {},
): ChildSpec => ({
  ...child,
  ...overrides,
  id,
  entry: new URL('./actors/puppet.js', import.meta.url),
  input: { counts: newCounts(), ...overrides.input },
})

export const asker = (id = 'asker', overrides: Overrides = {}): ChildSpec => ({
  ...child,
  asks: ['puppet'],
  ...overrides,
  id,
  entry: new URL('./actors/asker.js', import.meta.url),
  input: undefined,
})

export const supervisor = (
  id: string,
  children: SupervisorSpec['children'],
  overrides: Partial<Omit<SupervisorSpec, 'id' | 'children'>> = {},
): SupervisorSpec => ({
  strategy: 'one-for-one',
  restarts: { max: 3, withinMs: 60_000 },
  backoff: { firstMs: 1, factor: 2, capMs: 10, jitter: 0, quietMs: 60_000 },
  ...overrides,
  id,
  children,
})

export interface Planted {
  readonly tree: Tree
  readonly events: readonly TreeEvent[]
  readonly gaveUp: readonly Failure[]
  readonly wedged: readonly Death[]
  /** The first event of which this is true, be it past or to come. */
  until(is: (event: TreeEvent) => boolean): Promise<TreeEvent>
  /** `kind child`, in order. */
  story(...kinds: TreeEvent['kind'][]): readonly string[]
}

/** A tree that ends with its test. */
export function plant(
  t: TestContext,
  spec: SupervisorSpec,
  logTo: LogTarget = { level: 'info', stderr: 'none' },
): Planted {
  const events: TreeEvent[] = []
  const gaveUp: Failure[] = []
  const wedged: Death[] = []
  const waiting = new Set<(event: TreeEvent) => void>()
  const tree = supervise(spec, {
    clock: systemClock,
    random: seededRandom(1),
    log: openLog({ ...logTo, actor: 'main' }),
    logTo,
    onEvent: (event) => {
      events.push(event)
      for (const look of waiting) look(event)
    },
    onGaveUp: (failure) => gaveUp.push(failure),
    onWedged: (death) => wedged.push(death),
  })
  t.after(() => tree.stop({ hurry: true }))
  const until = (is: (event: TreeEvent) => boolean) =>
    new Promise<TreeEvent>((resolve) => {
      const past = events.find(is)
      if (past) return resolve(past)
      waiting.add((event) => is(event) && resolve(event))
    })
  const story = (...kinds: TreeEvent['kind'][]) =>
    events.filter(({ kind }) => kinds.includes(kind)).map(({ kind, child }) => `${kind} ${child}`)
  return { tree, events, gaveUp, wedged, until, story }
}

/** The child's start of that generation. */
export const startOf =
  (child: string, generation: number) =>
  (event: TreeEvent): boolean =>
    event.kind === 'started' && event.child === child && event.generation === generation
