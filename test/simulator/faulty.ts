import type { Lease, StoredWord } from '../../protocol/ledger.ts'
import type { Actor } from '../../protocol/lifecycle.ts'
import type { Disk, DiskNow } from '../../src/disk.ts'
import { Failure } from '../../src/failure.ts'
import { lockKey } from '../../src/manifest/holder.ts'
import { segmentsPrefix, snapshotsPrefix } from '../../src/manifest/names.ts'
import { Permits } from '../../src/store/permits.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import { type Parts, sound } from './parts.ts'
import { realBegins } from './vessel.ts'
import { work } from './workload.ts'

/** Parts that break a promise, each by a wrapper around the product's own: all are found. */

type Handlers = Readonly<Record<string, (ask: never) => unknown>>

/** An actor whose answers are given by these in place of its own. */
function answering<Input>(
  self: Actor<Input>,
  wrap: (handlers: Handlers) => Handlers,
): Actor<Input> {
  const serve: Actor<Input>['serve'] = (contract, handlersFor, options) => {
    // The wrapper keeps each request's ask and answer: it changes when and how often they happen.
    const wrapped = ((asker: Parameters<typeof handlersFor>[0]) =>
      wrap(handlersFor(asker) as Handlers)) as unknown as typeof handlersFor
    self.serve(contract, wrapped, options)
  }
  return { ...self, serve }
}

const withLedger = (begin: Parts['begins']['ledger']): Parts => ({
  ...sound,
  begins: { ...realBegins, ledger: begin },
})

/** The store as one kind of actor has it. */
const withStore = (kind: string, wrap: (store: ObjectStore) => ObjectStore): Parts => ({
  ...sound,
  around: (around, whose) =>
    whose.startsWith(kind)
      ? { ...around, openStore: async (place) => wrap(await around.openStore(place)) }
      : around,
})

const spool = `${work}/spool`

/** A sample's file goes as soon as it is stored. */
const removesBeforeCommit = withLedger((self, around) => {
  const remove = async ({ ends }: StoredWord) => {
    const files = await around.disk.list(spool)
    for (const { key } of ends) {
      const [hash] = key.split('/').at(-1)?.split('-') ?? []
      const file = files.find(({ name }) => hash !== undefined && name.startsWith(hash))
      if (file) await around.disk.remove(`${spool}/${file.name}`).catch(() => undefined)
    }
  }
  const early = answering(self, (handlers) => ({
    ...handlers,
    stored: async (ask: StoredWord) => {
      const leases = await handlers.stored?.(ask as never)
      await remove(ask)
      return leases
    },
  }))
  return realBegins.ledger(early, around)
})

/** What the store says of a body is not looked at. */
const believesAcknowledgements = withStore('uploader', (store) => ({
  ...store,
  put: async (key, body, options) => ({ ...(await store.put(key, body, options)), ...options }),
}))

/** A file goes to the store whatever it holds, and is taken for what its name says. */
const sendsTorn = withStore('uploader', (store) => ({
  ...store,
  put: async (key, body, options) => ({ ...(await store.put(key, body)), ...options }),
}))

/** Each start of the ledger writes under the same name, over what is there. */
const writesUnderOneName: Parts = {
  ...sound,
  around: (around, whose) => {
    if (!whose.startsWith('ledger')) return around
    // A start's first moment and first draws name it.
    const [moments, draws] = [[Date.UTC(2026, 1)], [0.5, 0.5]]
    return {
      ...around,
      random: () => draws.shift() ?? around.random(),
      wall: { ...around.wall, now: () => moments.shift() ?? around.wall.now() },
      openStore: async (place) => {
        const store = await around.openStore(place)
        const putIfAbsent: ObjectStore['putIfAbsent'] = async (key, body, options) => {
          if (!key.startsWith(segmentsPrefix)) return await store.putIfAbsent(key, body, options)
          await store.put(key, body, options)
          return true
        }
        return { ...store, putIfAbsent }
      },
    }
  },
}

const tellsDeathsTwice: Parts = {
  ...sound,
  start: (start) => ({
    ...start,
    onEnd: (end) => {
      start.onEnd(end)
      start.onEnd(end)
    },
  }),
}

/** Permits of an asker that has died are still given out. */
const leaksPermits = withLedger((self, around) =>
  realBegins.ledger(self, around, {
    newPermits: (max, options) => {
      const permits = new Permits(max, options)
      permits.askerEnded = () => undefined
      return permits
    },
  }),
)

/** A name that is taken is an error, though our own try whose answer was lost may have taken it. */
const takesTakenForFailure = withStore('ledger', (store) => ({
  ...store,
  putIfAbsent: async (key, body, options) => {
    if (await store.putIfAbsent(key, body, options)) return true
    throw new Failure('invalid', `taken. key=${key}`)
  },
}))

/** What was stored is leased once more. */
const leasesAgain = withLedger((self, around) => {
  const given = new Map<number, Lease>()
  const again: { readonly lease: Lease; readonly at: number }[] = []
  const note = (lease: Lease) => {
    given.set(lease.id, lease)
    return lease
  }
  const lends = answering(self, (handlers) => ({
    ...handlers,
    stored: async (ask: StoredWord) => {
      for (const { lease } of ask.ends) {
        const done = given.get(lease)
        given.delete(lease)
        if (done) again.push({ lease: { ...done, permit: null }, at: around.clock.now() + 3000 })
      }
      const leases = (await handlers.stored?.(ask as never)) as Lease[]
      return leases.map(note)
    },
    next: async (ask: unknown) => {
      if (again[0] && again[0].at <= around.clock.now()) {
        return { kind: 'lease', lease: again.shift()?.lease }
      }
      const next = (await handlers.next?.(ask as never)) as { kind: string; lease: Lease }
      if (next.kind === 'lease') note(next.lease)
      return next
    },
  }))
  return realBegins.ledger(lends, around)
})

/** One restart less than the supervisor's window allows. */
const countsOneTooMany: Parts = {
  ...sound,
  filling: (spec) => ({ ...spec, restarts: { ...spec.restarts, max: spec.restarts.max - 1 } }),
}

/** The same disk, as an object of functions that others may take the place of. */
const delegate = (disk: Disk): Disk => ({
  makeFolder: (path) => disk.makeFolder(path),
  create: (path, parts) => disk.create(path, parts),
  rename: (from, to) => disk.rename(from, to),
  remove: (path) => disk.remove(path),
  list: (path) => disk.list(path),
  freeBytes: (path) => disk.freeBytes(path),
  open: (path) => disk.open(path),
  readWhole: (path) => disk.readWhole(path),
  fill: (room, path, want) => disk.fill(room, path, want),
  now: disk.now,
})

/** What a crash left in the spool is not looked for. */
const forgetsTheSpool: Parts = {
  ...sound,
  around: (around, whose) => (whose.startsWith('ledger') ? blind(around) : around),
}

const blind = (around: Surroundings): Surroundings => {
  const { disk } = around
  const list: Disk['list'] = async (path) => (path === spool ? [] : await disk.list(path))
  return { ...around, disk: { ...delegate(disk), list } }
}

/** No silence is ever too long. */
const seesLifeEverywhere: Parts = {
  ...sound,
  vessel: (vessel) => {
    let beats = 0
    const reading = () => ({ ...vessel.reading(), beats: ++beats })
    return Object.assign(Object.create(vessel) as typeof vessel, { reading })
  },
}

/** What lasts is measured by the clock that people set. */
const measuresByTheWall: Parts = {
  ...sound,
  around: (around) => ({ ...around, clock: around.wall }),
}

/** The run is taken, whoever holds it. */
const heedsNoLock = withStore('process', (store) => {
  let isOurs = false
  return {
    ...store,
    head: async (key) => (key === lockKey && !isOurs ? undefined : await store.head(key)),
    putIfAbsent: async (key, body, options) => {
      if (key !== lockKey) return await store.putIfAbsent(key, body, options)
      isOurs = true
      await store.put(key, body, options)
      return true
    },
  }
})

/** What a snapshot covers goes before the snapshot is there. */
const removesBeforeItsSnapshot = withStore('ledger', (store) => ({
  ...store,
  put: async (key, body, options) => {
    if (key.startsWith(snapshotsPrefix)) {
      for await (const segment of store.list(segmentsPrefix)) await store.remove(segment.key)
    }
    return await store.put(key, body, options)
  },
}))

/** On the disk what lasts is written like all else. */
const onDisk = (wrap: (now: DiskNow) => Partial<DiskNow>): Parts => ({
  ...sound,
  around: (around) => {
    const { disk } = around
    const now = { ...disk.now, ...wrap(disk.now) }
    return { ...around, disk: { ...delegate(disk), now } }
  },
})

const syncsNoFile = onDisk((now) => ({ create: (path, bytes) => now.create(path, bytes) }))
const syncsNoFolder = onDisk(() => ({ syncFolder: () => undefined }))

export const faultyParts: Readonly<Record<string, Parts>> = {
  'removes before commit': removesBeforeCommit,
  'believes acknowledgements': believesAcknowledgements,
  'sends torn files': sendsTorn,
  'uses a segment name again': writesUnderOneName,
  'counts a death twice': tellsDeathsTwice,
  'leaks permits at a death': leaksPermits,
  'takes a lost answer for a failure': takesTakenForFailure,
  'leases again what is done': leasesAgain,
  'counts one restart too many': countsOneTooMany,
  'forgets the spool': forgetsTheSpool,
  'syncs no file': syncsNoFile,
  'syncs no folder': syncsNoFolder,
  'sees life everywhere': seesLifeEverywhere,
  'measures by the wall clock': measuresByTheWall,
  'heeds no lock': heedsNoLock,
  'removes before its snapshot': removesBeforeItsSnapshot,
}
