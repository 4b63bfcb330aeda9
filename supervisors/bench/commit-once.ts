import { setImmediate as turn } from 'node:timers/promises'
import { seededRandom, systemClock } from '../../src/clock.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { openStore } from '../../src/store/open.ts'
import { randomEntries } from './manifest-rows.ts'
import { spreadOf } from './report.ts'

/**
 * A few commits and one compaction, in a process of its own. The arguments are the store's URL, the
 * S3 endpoint or nothing, and a seed of its own for each call.
 */

const commits = 20
const entriesEach = 1000
/** As in a run: what is covered stays for now. */
const graceMs = 10 * 60_000

const [url, endpoint, seed] = process.argv.slice(2)
const store = await openStore(url, endpoint ? { endpoint } : {})
const manifest = openManifest(store, { writer: newWriterId(systemClock, Math.random) })
await manifest.replay()

const random = seededRandom(Number(seed))
const commitMs: number[] = []
for (let i = 0; i < commits; i++) {
  const entries = randomEntries(entriesEach, random)
  const before = performance.now()
  await manifest.append(entries)
  commitMs.push(performance.now() - before)
}

const before = performance.now()
const { snapshot, pauseMs } = await watched(manifest.compact({ graceMs }))
const answer = {
  commitMs: spreadOf(commitMs).median,
  compactionSeconds: (performance.now() - before) / 1000,
  pauseMs,
  entries: manifest.table.size,
  snapshotBytes: (await store.head(snapshot ?? ''))?.size,
  // On every system in kibibytes, says libuv.
  peakBytes: process.resourceUsage().maxRSS * 1024,
}
store.close()
process.stdout.write(JSON.stringify(answer))

/**
 * What comes of the work, and for how long at most it kept the thread from everything else: in
 * processor time, which others on the machine do not lengthen.
 */
async function watched<T>(work: Promise<T>): Promise<T & { readonly pauseMs: number }> {
  let result: T | undefined
  let failure: unknown
  work.then(
    (value) => {
      result = value
    },
    (error: unknown) => {
      failure = error
    },
  )
  let pauseMs = 0
  for (let last = cpuMs(); result === undefined; ) {
    if (failure !== undefined) throw failure
    await turn()
    const now = cpuMs()
    pauseMs = Math.max(pauseMs, now - last)
    last = now
  }
  return { ...result, pauseMs }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
