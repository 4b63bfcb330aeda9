import { randomHex } from '../../src/clock.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import type { Drill } from './drill.ts'
import type { Rig } from './rig/rig.ts'
import { writeBeside } from './two-supervisors.ts'

/** What a run must refuse: it names what is wrong and what to do, and changes nothing. */

const matters = 'Going on would compute again, without a word, what is paid for already.'
const segmentsPrefix = 'manifest/segments/'

interface Damage {
  readonly key: string
  /** What the object was, put back afterwards. */
  readonly whole: Buffer
}

/** A run that has got on is damaged, refused, mended, and goes on. */
const refusedFor = (
  drill: Omit<Drill, 'run' | 'matters' | 'seconds'>,
  harm: (store: ObjectStore, damage: Damage) => Promise<void>,
): Drill => ({
  ...drill,
  matters,
  seconds: 10,
  run: (rig) =>
    withStore(rig, async (store) => {
      await rig.killed(rig.start({ at: 'manifest.put', hit: 3, end: 'all' }))
      const key = await firstBelow(store, segmentsPrefix)
      const damage = { key, whole: (await store.get(key)) ?? Buffer.alloc(0) }
      await harm(store, damage)
      await isRefused(rig, { store, names: key })
      await store.put(key, damage.whole)
      await rig.completes()
    }),
})

async function isRefused(
  rig: Rig,
  {
    store,
    names,
    how = {},
  }: { store: ObjectStore; names: string; how?: Parameters<Rig['start']>[1] },
): Promise<void> {
  const before = await allIn(store)
  const { stdout } = await rig.exits(rig.start([], how), 2)
  const { reason, remedy } = JSON.parse(stdout) as { reason: string; remedy: string | null }
  rig.check('it names what is wrong', reason.includes(names), reason)
  rig.check('it says what to do', remedy !== null)
  const after = await allIn(store)
  const keys = new Set([...before.keys(), ...after.keys()])
  const changed = [...keys].filter((one) => before.get(one) !== after.get(one))
  rig.check('nothing in the store has changed', changed.length === 0, ...changed)
}

export const refusals: readonly Drill[] = [
  refusedFor(
    { name: 'manifest-segment-corrupt', breaks: 'One bit of a manifest segment has changed.' },
    async (store, { key, whole }) => {
      const flipped = Buffer.from(whole)
      const at = whole.length - 100
      flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at)
      await store.put(key, flipped)
    },
  ),
  refusedFor(
    { name: 'manifest-segment-cut', breaks: 'A manifest segment has lost its end.' },
    async (store, { key, whole }) => void (await store.put(key, whole.subarray(0, -50))),
  ),
  refusedFor(
    { name: 'manifest-segment-missing', breaks: 'A manifest segment is gone.' },
    async (store, { key }) => await store.remove(key),
  ),
  {
    name: 'store-of-another-run',
    breaks: "A run with another dtype is pointed at this run's store.",
    matters: 'States of two kinds under one prefix are of no use to anyone.',
    seconds: 7,
    run: (rig) =>
      withStore(rig, async (store) => {
        await rig.completes()
        const other = writeBeside(rig.job, 'other', { extract: { dtype: 'f32' } })
        const how = { args: ['run', other.config, '--json'], job: other }
        await isRefused(rig, { store, names: 'dtype', how })
      }),
  },
]

export const segmentTwice: Drill = {
  name: 'manifest-segment-twice',
  breaks: 'A manifest segment lies in the store twice, under the names of two writers.',
  matters: 'The manifest is a union: what is told twice is told once.',
  seconds: 7,
  run: (rig) =>
    withStore(rig, async (store) => {
      await rig.killed(rig.start({ at: 'manifest.put', hit: 3, end: 'all' }))
      const key = await firstBelow(store, segmentsPrefix)
      const [, , writer = '', name = ''] = key.split('/')
      const other = `${writer.slice(0, -12)}${randomHex(rig.random, 12)}`
      await store.put(
        `${segmentsPrefix}${other}/${name}`,
        (await store.get(key)) ?? Buffer.alloc(0),
      )
      await rig.exits(rig.start(), 0)
      await rig.endsAsIfUndisturbed(rig.job, { named: false })
    }),
}

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
