import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { seededRandom } from '../../src/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { inFreshProcess } from './fresh.ts'
import { randomRows } from './manifest-rows.ts'
import { writeManifest } from './manifest-writer.ts'
import type { BenchReport, Figure } from './report.ts'
import { serveS3 } from './served-s3.ts'

/** What the manifest costs a run: at its start, at each commit, and at a compaction. */

export interface ReplaySizes {
  readonly entries: number
  readonly repeats: number
}

const replayOnce = z.strictObject({
  entries: z.number(),
  replaySeconds: z.number(),
  cpuSeconds: z.number(),
  processSeconds: z.number(),
  peakBytes: z.number(),
})
type Replay = z.output<typeof replayOnce>

const commitOnce = z.strictObject({
  commitMs: z.number(),
  compactionSeconds: z.number(),
  pauseMs: z.number(),
  entries: z.number(),
  snapshotBytes: z.number(),
  peakBytes: z.number(),
})
type Commit = z.output<typeof commitOnce>

interface Found {
  readonly replays: Replay[]
  readonly toFolder: Commit[]
  readonly toS3: Commit[]
}

export async function benchReplay(
  folder: string,
  sizes: ReplaySizes,
  note: (text: string) => void,
): Promise<BenchReport> {
  const root = join(folder, 'manifest-store')
  const url = pathToFileURL(root).href
  await rm(root, { recursive: true, force: true })
  note(`writing a manifest of ${sizes.entries} entries`)
  const random = seededRandom(0)
  const segments = await writeManifest(await openStore(url), sizes.entries, {
    rows: (count) => randomRows(count, random),
  })
  const found = await measure(url, sizes, note)
  await rm(root, { recursive: true, force: true })
  return {
    bench: 'replay',
    sizes: { entries: sizes.entries, segments, repeats: sizes.repeats },
    method: [
      `Each repeat is a new process that replays one snapshot and ${segments} segments from a`,
      "file:// store, in the page cache. Memory is the process's own peak, Node's included. Then",
      'others commit 20 segments of 1,000 entries (the median of them counts) and compact, once on',
      'that store and once on the embedded S3 server, which knows of no other entries.',
    ],
    figures: figuresOf(found, sizes.entries),
  }
}

async function measure(
  url: string,
  { entries, repeats }: ReplaySizes,
  note: (text: string) => void,
): Promise<Found> {
  const found: Found = { replays: [], toFolder: [], toS3: [] }
  const replay = new URL('./replay-once.js', import.meta.url)
  for (let repeat = 1; repeat <= repeats; repeat++) {
    note(`replay ${repeat} of ${repeats}`)
    const one = replayOnce.parse(await inFreshProcess({ script: replay, args: [url] }))
    if (one.entries !== entries) {
      throw new Error(`replay lost entries. want=${entries}, found=${one.entries}`)
    }
    found.replays.push(one)
  }
  const script = new URL('./commit-once.js', import.meta.url)
  await using s3 = await serveS3()
  const commit = async (args: readonly string[]) => {
    return commitOnce.parse(await inFreshProcess({ script, args, env: s3.env }))
  }
  for (let repeat = 1; repeat <= repeats; repeat++) {
    note(`commits and a compaction, ${repeat} of ${repeats}`)
    found.toFolder.push(await commit([url, '', `${repeat}`]))
    found.toS3.push(await commit([`${s3.url}/${repeat}`, s3.endpoint, `${repeat}`]))
  }
  return found
}

/** What is promised up to a million entries, and beyond. */
const targetsFor = (entries: number) =>
  entries <= 1e6
    ? { seconds: { below: 1 }, memory: { below: 300 }, snapshot: { below: 50 } }
    : { seconds: { below: 10 }, memory: { below: 1000 } }

function figuresOf({ replays, toFolder, toS3 }: Found, entries: number): Figure[] {
  const { seconds, memory, snapshot } = { snapshot: undefined, ...targetsFor(entries) }
  const replay = (of: (one: Replay) => number) => replays.map(of)
  const commit = (of: (one: Commit) => number, on = toFolder) => on.map(of)
  const commitTarget = { below: 50 }
  const figure = (name: string, unit: Figure['unit'], values: readonly number[]) => ({
    name,
    unit,
    values,
  })
  return [
    {
      ...figure(
        'replay',
        's',
        replay((one) => one.replaySeconds),
      ),
      target: seconds,
    },
    figure(
      'the same, from the start of the process',
      's',
      replay((one) => one.processSeconds),
    ),
    figure(
      'the same, processor time of the replay',
      's',
      replay((one) => one.cpuSeconds),
    ),
    {
      ...figure(
        'peak resident memory',
        'MB',
        replay((one) => one.peakBytes / 1e6),
      ),
      target: memory,
    },
    {
      ...figure(
        'a commit of 1,000 entries, file://',
        'ms',
        commit((one) => one.commitMs),
      ),
      target: commitTarget,
    },
    {
      ...figure(
        'the same, embedded S3',
        'ms',
        commit((one) => one.commitMs, toS3),
      ),
      target: commitTarget,
    },
    {
      ...figure(
        'snapshot',
        'MB',
        // The commits have added some entries.
        commit((one) => (one.snapshotBytes / one.entries) * (entries / 1e6)),
      ),
      ...(snapshot && { target: snapshot }),
    },
    figure(
      'compaction, beside commits',
      's',
      commit((one) => one.compactionSeconds),
    ),
    {
      ...figure(
        'its longest hold of the thread, processor time',
        'ms',
        commit((one) => one.pauseMs),
      ),
      target: { below: 100 },
    },
    figure(
      'its peak resident memory',
      'MB',
      commit((one) => one.peakBytes / 1e6),
    ),
  ]
}
