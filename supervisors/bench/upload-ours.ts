import { linkSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ledger } from '../../actors/ledger/index.ts'
import { uploader } from '../../actors/uploader/index.ts'
import type { SupervisorSpec } from '../../protocol/child.ts'
import { ledgerContract } from '../../protocol/ledger.ts'
import type { SampleRef } from '../../protocol/sample.ts'
import { systemClock } from '../../src/clock.ts'
import { parseConfig } from '../../src/config/load.ts'
import { openLog } from '../../src/log.ts'
import { parseSpoolName } from '../../src/spool/name.ts'
import { backoff } from '../backoff.ts'
import { supervise } from '../engine/tree.ts'
import { lanesOf, ledgerRequests } from '../storage.ts'
import { jobOf, measured, namesOf, pathOf, region, type UploadJob } from './upload-job.ts'

/**
 * This project's side of `bench upload`: the ledger and the uploaders of a run, as threads under
 * their supervisor, with a run's own settings. From the moment at which all files are told to be
 * spooled until each is leased, read, checked against its name, put under a permit, confirmed by
 * the store's checksum, named by a manifest segment in the store, and removed from the spool.
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

function storageOf(job: UploadJob): SupervisorSpec {
  const config = configOf(job)
  const { attempts, deadlineMinutes, maxParallel, threads } = config.upload
  const { commit, spool, work } = config
  const input = { work, attempts, store: { url: config.store, s3: config.s3 } }
  const lanes = lanesOf(config.upload)
  const uploaders = Array.from({ length: threads }, (_, i) => uploader(i, { ...input, lanes }, []))
  const ids = uploaders.map(({ id }) => id)
  const requests = { maxParallel: ledgerRequests(maxParallel), deadlineMinutes }
  const owned = { ...input, ...requests, commit, spool, retry: new Map<string, number>() }
  const owner = ledger(owned, { drainsAfter: ids, writers: [] })
  return {
    id: 'storage',
    strategy: 'rest-for-one',
    restarts: { max: 0, withinMs: 60_000 },
    backoff,
    // Nobody spools here but this process.
    children: [owner, ...uploaders],
  }
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
const tree = supervise(storageOf(job), {
  clock: systemClock,
  random: Math.random,
  log: openLog({ actor: 'bench', level: 'warn', stderr: 'json' }),
  logTo: { level: 'warn', stderr: 'json' },
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
    if (gaveUp !== null) die(gaveUp)
    settled = await owner.ask.settled()
  }
  if (settled.failed.length > 0) die(`not stored: ${settled.failed.length}`)
})
await tree.stop()
// The threads have ended; nothing else is worth waiting for.
process.exit(0)
