import { randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { count } from '../../actors/console/numbers.ts'
import { wallClock } from '../../src/clock.ts'
import type { Config } from '../../src/config/schema.ts'
import { Failure } from '../../src/failure.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { requireSameIdentity } from '../../src/run/identity.ts'
import { readRun } from '../../src/run/stored-run.ts'
import { tryConditions } from '../../src/store/conditional.ts'
import { confirm, refusesOther, rungText } from '../../src/store/confirm.ts'
import { soleStore } from '../../src/store/patient.ts'
import type { Acknowledgement, ObjectStore } from '../../src/store/store.ts'
import { type ChosenTarget, identityOf, type PreparedTraining } from '../run/preflight.ts'
import type { Look, Seen } from './findings.ts'
import { lookAtBegun } from './probe-begun.ts'
import { tryParts } from './probe-parts.ts'
import { tracesIn } from './probe-traces.ts'

/** Does with the store what a run does, one request after the other, on objects that it removes. */

const attempts = 3
/** Amazon refuses requests that are signed a quarter of an hour off. */
const skewMaxMs = 5 * 60_000
const isThisMachine = /^http:\/\/(127\.|localhost[:/]|\[::1\])/

/** An object of the probe's own, as it was put. */
interface Probe {
  readonly store: ObjectStore
  readonly key: string
  readonly body: Buffer
  readonly said: Acknowledgement
  /** By this machine's clock: when its put began. */
  readonly from: number
}

/** What the run's part of the store is compared with. */
export interface Wanted extends ChosenTarget {
  /** Undefined: nothing trains, or it is not in order. */
  readonly training: PreparedTraining | undefined
}

/** The run that a store holds: its id; null where it holds none. */
export interface Held {
  readonly run: string | null
}

/**
 * Tells of each thing that a run needs of the store, and of what it may hold already.
 *
 * @returns  undefined where the store, or what it holds, is not in order
 */
export async function probeStore(
  config: Config,
  chosen: Wanted | undefined,
  look: Look,
): Promise<Held | undefined> {
  const clearTraces = await tracesIn(config.store)
  const probe = await look('store', () => putProbe(config))
  if (!probe) return undefined
  const { store, key } = probe
  try {
    await look('store: reading', () => readProbe(probe))
    await look('store: listing', () => listProbe(probe))
    await look('store: checksums', () => tryChecksums(config, probe))
    await look('store: confirmation', () => confirmProbe(probe))
    await look('store: conditions', () => lookAtConditions(probe))
    await look('store: large files', () => tryParts(store, `${key}-parts`))
    await look('store: clock', () => compareClocks(probe))
    const held = await look('store: contents', () => contents(store, config, chosen))
    const training = chosen?.training
    if (held?.run != null && training) {
      const identity = await identityOf(config, chosen)
      await look('store: training', () => lookAtBegun(store, { identity, training }))
    }
    await look('store: removal', () => removeAll(probe))
    return held
  } finally {
    store.close()
    await clearTraces()
  }
}

async function putProbe(config: Config): Promise<Seen<Probe>> {
  const place = { url: config.store, s3: config.s3 }
  const store = await soleStore(place, { maxParallel: 1, attempts })
  const key = `probe/${randomUUID()}`
  const body = Buffer.from(key)
  const from = Date.now()
  const said = await store.put(key, body, { crc32: crc32(body) })
  const probe = { store, key, body, said, from }
  const { endpoint } = config.s3
  if (endpoint === undefined) return [`${config.store} takes objects`, probe]
  const found = `${config.store} at ${endpoint} takes objects`
  if (endpoint.startsWith('https:') || isThisMachine.test(endpoint)) return [found, probe]
  return [found, probe, 'All bytes cross the network unencrypted: use https:// where there is TLS.']
}

async function readProbe({ store, key, body }: Probe): Promise<Seen<null>> {
  const size = (await store.head(key))?.size
  if (size !== body.length) throw broken(key, { call: 'head', want: body.length, found: size })
  const got = await store.get(key)
  if (!got?.equals(body)) throw broken(key, { call: 'get', want: body.length, found: got?.length })
  return ['gives back at once what it took', null]
}

async function listProbe({ store, key }: Probe): Promise<Seen<null>> {
  const found = (await store.listPage({ prefix: key })).objects.length
  if (found !== 1) throw broken(key, { call: 'list', want: 1, found })
  return ['lists at once what it took', null]
}

function broken(
  key: string,
  { call, want, found }: { call: string; want: number; found: number | undefined },
): Failure {
  const facts = `key=${key}, call=${call}, want=${want}, found=${found}`
  return new Failure('invalid', `the store does not keep what it took. ${facts}`, {
    remedy: 'Use a store that gives back at once what it has acknowledged.',
  })
}

/** `verify` says the same of it. */
const laterNone = 'tells none of what is stored'

/** Whether it tells the CRC-32 that was sent, at once and later, and refuses one that is wrong. */
async function tryChecksums({ s3 }: Config, probe: Probe): Promise<Seen<null>> {
  if (s3.checksums === 'when-required') {
    const guard = 'Content-MD5 guards each object on its way'
    return [`none are sent, as s3.checksums says: ${guard}`, null]
  }
  const isToldBack = probe.said.crc32 === crc32(probe.body)
  const refusesWrong = await refusesOther(probe.store, probe.key, probe.body)
  const isToldLater = (await probe.store.head(probe.key))?.crc32 === crc32(probe.body)
  const later = isToldLater ? 'tells it of what is stored' : laterNone
  const told = isToldBack ? `answers a put with its CRC-32, ${later}` : 'tells no CRC-32'
  if (refusesWrong) return [`${told}, refuses a wrong one`, null]
  const note = 'Set s3.checksums: when-required, so that Content-MD5 guards objects on their way.'
  return [`${told}, and takes a wrong one too: it checks none`, null, note]
}

async function confirmProbe({ store, key, body, said }: Probe): Promise<Seen<null>> {
  const rung = await confirm(store, key, said, { crc32: crc32(body), size: body.length, body })
  const found = `a run will confirm objects ${rungText[rung]}`
  if (rung !== 'read-back') return [found, null]
  const why = 'it tells no checksum, and its ETags are no MD5 (as with encryption by KMS)'
  return [found, null, `Each object crosses the line twice: ${why}.`]
}

async function lookAtConditions({ store, key }: Probe): Promise<Seen<null>> {
  const { ifNoneMatch, ifMatch } = await tryConditions(store, key)
  if (ifNoneMatch && ifMatch) return ['If-None-Match and If-Match are honoured', null]
  const some = ifNoneMatch ? 'If-Match is' : ifMatch ? 'If-None-Match is' : 'conditional puts are'
  const note = 'Two supervisors at once are warned of, not refused; they damage nothing.'
  return [`${some} ignored`, null, note]
}

async function compareClocks({ store, key, from }: Probe): Promise<Seen<null>> {
  const at = (await store.head(key))?.lastModified ?? from
  return clocksSeen({ at, from, to: Date.now() })
}

/**
 * @param taken  `at`: when an object was stored, by the store's clock, to the second; `from` and
 *               `to`: between which moments that was, by ours
 */
export function clocksSeen(taken: {
  readonly at: number
  readonly from: number
  readonly to: number
}): Seen<null> {
  const ahead = taken.from - (taken.at + 1000)
  const behind = taken.at - taken.to
  const offMs = Math.max(ahead, behind)
  if (offMs < 2000) return ['this machine’s clock and the store’s agree', null]
  const off =
    offMs < 120_000 ? `${Math.round(offMs / 1000)} s` : `${Math.round(offMs / 60_000)} min`
  const found = `this machine’s clock is ${off} ${ahead > 0 ? 'ahead of' : 'behind'} the store’s`
  if (offMs < skewMaxMs) return [found, null]
  const how = 'A run works: what the store refuses for it is signed anew by the store’s time'
  return [found, null, `${how}. Set this machine’s clock all the same.`]
}

async function removeAll({ store, key }: Probe): Promise<Seen<null>> {
  for (const own of [key, `${key}-wrong`, `${key}-parts`]) await store.remove(own)
  if ((await store.head(key)) === undefined) return ['removes objects, at once', null]
  const note = 'A run goes on, but what it removes from the manifest may show for a while.'
  return ['objects are still there after they were removed', null, note]
}

/** Reads the whole manifest: a run that goes on must be able to. */
async function contents(
  store: ObjectStore,
  config: Config,
  chosen: ChosenTarget | undefined,
): Promise<Seen<Held>> {
  const run = await readRun(store)
  if (!run) return ['it holds no run yet', { run: null }]
  if (chosen) requireSameIdentity(run, await identityOf(config, chosen), store.url)
  const writer = newWriterId(wallClock, Math.random)
  const { stored } = await openManifest(store, { writer }).replay()
  const found = `it holds ${count(stored)} samples of run ${run.id}, begun ${run.createdAt}`
  return [found, { run: run.id }]
}
