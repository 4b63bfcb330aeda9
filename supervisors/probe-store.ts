import { randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { count } from '../actors/console/text.ts'
import { systemClock } from '../src/clock.ts'
import type { Config } from '../src/config/schema.ts'
import { Failure } from '../src/failure.ts'
import { openManifest } from '../src/manifest/log.ts'
import { newWriterId } from '../src/manifest/names.ts'
import { type Run, requireSameIdentity } from '../src/run/identity.ts'
import { readRun } from '../src/run/stored-run.ts'
import { conditionalPuts } from '../src/store/conditional.ts'
import { confirm } from '../src/store/confirm.ts'
import { soleStore } from '../src/store/patient.ts'
import type { ObjectStore } from '../src/store/store.ts'
import { type ChosenTarget, identityOf } from './preflight.ts'

/**
 * Does with the store what a run does, on an object of its own that it removes.
 *
 * @returns  what was found, in words
 * @throws   Failure: the store cannot be used, or belongs to another run
 */
export async function probeStore(
  config: Config,
  chosen: ChosenTarget | undefined,
): Promise<[string, null]> {
  const { maxParallel } = config.upload
  const place = { url: config.store, s3: config.s3 }
  const store = await soleStore(place, { maxParallel, attempts: 3 })
  const rung = await putAndLook(store)
  const { honoured } = await conditionalPuts(store)
  const run = await readRun(store)
  if (run && chosen) requireSameIdentity(run, await identityOf(config, chosen), store.url)
  return [
    [
      `${config.store} takes and gives objects, confirmed by ${rung}`,
      honoured
        ? 'conditional puts are honoured'
        : 'conditional puts are ignored: two supervisors at once are warned of, not refused',
      run ? await contents(store, run) : 'it holds no run yet',
    ].join('; '),
    null,
  ]
}

/** Reads the whole manifest: a run that goes on must be able to. */
async function contents(store: ObjectStore, run: Run): Promise<string> {
  const writer = newWriterId(systemClock, Math.random)
  const { stored } = await openManifest(store, { writer }).replay()
  return `it holds ${count(stored)} samples of run ${run.id}, begun ${run.createdAt}`
}

async function putAndLook(store: ObjectStore): Promise<string> {
  const key = `probe/${randomUUID()}`
  const body = Buffer.from(key)
  const sent = { crc32: crc32(body), size: body.length, body }
  const acknowledgement = await store.put(key, body, sent)
  try {
    const rung = await confirm(store, key, acknowledgement, sent)
    const found = await store.head(key)
    if (found?.size !== body.length) throw broken(store, 'head', body.length, found?.size)
    if (!(await store.get(key))?.equals(body)) throw broken(store, 'get', body.length, undefined)
    const listed = (await store.listPage({ prefix: key })).objects.length
    if (listed !== 1) throw broken(store, 'list', 1, listed)
    return rung
  } finally {
    await store.remove(key)
  }
}

function broken(store: ObjectStore, call: string, want: number, found: number | undefined) {
  const facts = `store=${store.url}, call=${call}, want=${want}, found=${found}`
  return new Failure('invalid', `the store does not keep what it took. ${facts}`, {
    remedy: 'Use a store that gives back at once what it has acknowledged.',
  })
}
