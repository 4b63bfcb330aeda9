import { linkSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SupervisorSpec } from '../../protocol/child.ts'
import { ledgerContract } from '../../protocol/ledger.ts'
import type { SampleRef } from '../../protocol/sample.ts'
import { systemClock } from '../../src/clock.ts'
import { parseConfig } from '../../src/config/load.ts'
import { openLog } from '../../src/log.ts'
import { parseSpoolName } from '../../src/spool/name.ts'
import { probeConfirmation } from '../../src/store/confirm.ts'
import { soleStore } from '../../src/store/patient.ts'
import { supervise } from '../engine/tree.ts'
import { storage } from '../storage.ts'
import { jobOf, measured, namesOf, pathOf, region, type UploadJob } from './upload-job.ts'

/**
 * This project's side of `bench upload`: the storage of a run, as it is, as threads under its
 * supervisor, with a run's own settings. From the moment at which all files are told to be
 * spooled until each is leased, read, put under a permit, confirmed by the store's checksum, which
 * refuses another (tried before, as a run does), named by a manifest segment in the store, and
 * removed from the spool.
 */

const configOf = (job: UploadJob) =>
  parseConfig(
    JSON.stringify({
      store: `s3://${job.bucket}/${job.prefix.replace(/\/$/, '')}`,
      s3: { endpoint: job.endpoint, region },
      work: job.work,
      dataset: { path: 'none' },
      target: { path: 'none' },
      upload: { maxParallel: job.parallel },
    }),
    { name: 'bench', base: job.work },
  ).config

/** As of any run, the store tried before; but nobody spools here other than this process. */
async function storageOf(job: UploadJob): Promise<SupervisorSpec> {
  const config = configOf(job)
  const place = { url: config.store, s3: config.s3 }
  const store = await soleStore(place)
  const { refuses: storeSums } = await probeConfirmation(store)
  store.close()
  const run = { config, place, retry: new Map<string, number>(), storeSums }
  return storage(run, { filling: null, trains: false })
}

/** The files as the extractor leaves them. @returns what it tells of them */
function spool(job: UploadJob, names: readonly string[]): SampleRef[] {
  return names.map((name) => {
    const sample = parseSpoolName(name)
    if (!sample) throw new Error(`not the name of a spooled file. name=${name}`)
    linkSync(pathOf(job, name), join(job.work, 'spool', name))
    return sample
  })
}

function die(why: unknown): never {
  console.error(why)
  process.exit(1)
}

const job = jobOf(process.argv[2])
mkdirSync(join(job.work, 'spool'), { recursive: true })
const names = await namesOf(job)
const tree = supervise(await storageOf(job), {
  clock: systemClock,
  random: Math.random,
  log: openLog({ actor: 'bench', level: 'warn', stderr: 'json' }),
  logTo: { level: 'warn', stderr: 'json' },
  // What is measured is one that needs no restart.
  onEvent: (event) => event.kind === 'died' && die(`${event.child} died`),
  onGaveUp: die,
  onWedged: die,
})
await tree.start()
const owner = tree.client('ledger', ledgerContract)
const samples = spool(job, names)
await measured(async () => {
  await owner.ask.spooled(samples)
  let settled = await owner.ask.settled()
  while (settled.kind === 'later') {
    const { gaveUp } = await owner.ask.status()
    if (gaveUp !== null) die(gaveUp.reason)
    settled = await owner.ask.settled()
  }
  if (settled.failed.length > 0) die(`not stored: ${settled.failed.length}`)
})
await tree.stop()
// The threads have ended; nothing else is worth waiting for.
process.exit(0)
