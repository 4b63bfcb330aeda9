import { type Random, randomHex } from '../../src/clock.ts'
import { segmentsPrefix, snapshotKey } from '../../src/manifest/names.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { Drill } from './drill.ts'
import type { Rig } from './rig/rig.ts'
import { endsTelling } from './rig/told.ts'
import { writeBeside } from './two-supervisors.ts'

/** What a run must refuse: it names what is wrong and what to do, and changes nothing. */

const matters = 'Going on would compute again, without a word, what is paid for already.'

/** A segment of a run that has got on. */
interface Segment {
  readonly key: string
  readonly bytes: Buffer
}

interface Damage {
  /** The object that a refusal names. */
  readonly key: string
  mend(): Promise<void>
}

/** A run that has got on is damaged, refused, mended, and goes on. */
const refusedFor = (
  drill: Omit<Drill, 'run' | 'matters' | 'seconds'>,
  harm: (store: ObjectStore, segment: Segment, random: Random) => Promise<Damage>,
): Drill => ({
  ...drill,
  matters,
  seconds: 20,
  run: (rig) =>
    withStore(rig, async (store) => {
      await rig.killed(rig.start({ at: 'manifest.put', hit: 3, end: 'all' }))
      const key = await firstBelow(store, segmentsPrefix)
      const bytes = (await store.get(key)) ?? Buffer.alloc(0)
      const damage = await harm(store, { key, bytes }, rig.random)
      await isRefused(rig, { store, names: damage.key })
      await damage.mend()
      await rig.completes()
    }),
})

/** What it was is put back afterwards. */
const replacedBy =
  (change: (bytes: Buffer) => Buffer | null) =>
  async (store: ObjectStore, { key, bytes }: Segment): Promise<Damage> => {
    const changed = change(bytes)
    if (changed) await store.put(key, changed)
    else await store.remove(key)
    return { key, mend: async () => void (await store.put(key, bytes)) }
  }

/** Such as no writer of this run has put. */
async function addedAs(store: ObjectStore, key: string, bytes: Buffer): Promise<Damage> {
  await store.put(key, bytes)
  return { key, mend: () => store.remove(key) }
}

async function isRefused(
  rig: Rig,
  {
    store,
    names,
    how = {},
  }: { store: ObjectStore; names: string; how?: Parameters<Rig['start']>[1] },
): Promise<void> {
  const before = await allIn(store)
  await endsTelling(rig, rig.start([], how), { code: 2, names })
  const after = await allIn(store)
  const keys = new Set([...before.keys(), ...after.keys()])
  const changed = [...keys].filter((one) => before.get(one) !== after.get(one))
  rig.check('nothing in the store has changed', changed.length === 0, ...changed)
}

export const refusals: readonly Drill[] = [
  refusedFor(
    { name: 'manifest-segment-corrupt', breaks: 'One bit of a manifest segment has changed.' },
    replacedBy((bytes) => {
      const flipped = Buffer.from(bytes)
      const at = bytes.length - 100
      flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at)
      return flipped
    }),
  ),
  refusedFor(
    { name: 'manifest-segment-cut', breaks: 'A manifest segment has lost its end.' },
    replacedBy((bytes) => bytes.subarray(0, -50)),
  ),
  refusedFor(
    { name: 'manifest-segment-missing', breaks: 'A manifest segment is gone.' },
    replacedBy(() => null),
  ),
  refusedFor(
    {
      name: 'manifest-segment-twice',
      breaks: 'A manifest segment lies in the store again, under the name of another writer.',
    },
    (store, { key, bytes }, random) => {
      const [, , writer = '', name = ''] = key.split('/')
      const other = `${writer.slice(0, -12)}${randomHex(random, 12)}`
      return addedAs(store, `${segmentsPrefix}${other}/${name}`, bytes)
    },
  ),
  refusedFor(
    {
      name: 'manifest-snapshot-half-written',
      breaks: 'Half of a snapshot lies among the snapshots.',
    },
    (store, { key, bytes }, random) => {
      const [, , writer = ''] = key.split('/')
      const id = `${writer.slice(0, -12)}${randomHex(random, 12)}`
      return addedAs(store, snapshotKey(id), bytes.subarray(0, bytes.length >> 1))
    },
  ),
  {
    name: 'store-of-another-run',
    breaks: "A run with another dtype is pointed at this run's store.",
    matters: 'States of two kinds under one prefix are of no use to anyone.',
    seconds: 15,
    run: (rig) =>
      withStore(rig, async (store) => {
        await rig.completes()
        const other = writeBeside(rig.job, 'other', { extract: { dtype: 'f32' } })
        const how = { args: ['run', other.config, '--json'], job: other }
        await isRefused(rig, { store, names: 'dtype', how })
      }),
  },
]

async function withStore(rig: Rig, use: (store: ObjectStore) => Promise<void>): Promise<void> {
  const store = await rig.job.openStore()
  try {
    await use(store)
  } finally {
    store.close()
  }
}

async function firstBelow(store: ObjectStore, prefix: string): Promise<string> {
  for await (const { key } of store.list(prefix)) return key
  throw new Error(`nothing lies below ${prefix}`)
}

/** Everything but the lock, which each attempt takes and gives back: its size and its tag. */
async function allIn(store: ObjectStore): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for await (const { key, size, etag } of store.list('')) {
    if (key !== 'manifest/lock.json') all.set(key, `${size}/${etag ?? ''}`)
  }
  return all
}
