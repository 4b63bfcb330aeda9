import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { inFreshProcess } from './fresh.ts'
import type { BenchReport, Figure } from './report.ts'
import { fileBytes, makeFiles } from './upload-files.ts'
import type { Spent, UploadJob } from './upload-job.ts'
import {
  bestServer,
  bucket,
  makeTrust,
  type ServerName,
  startServer,
  type Trust,
} from './upload-servers.ts'
import { bareWithChecksum, ours, type UploadSide, uploadSides } from './upload-sides.ts'

/** How fast finished samples leave for a store, at what cost, beside what people use for it. */

export interface UploadSizes {
  readonly files: number
  readonly repeats: number
  readonly tls: boolean
}

const parallel = 100
/** Where no store holds them up, two are of interest: how much of the ceiling is ours. */
const onSink = new Set([ours, bareWithChecksum])

export async function benchUpload(
  folder: string,
  { files: count, repeats, tls }: UploadSizes,
  note: (text: string) => void,
): Promise<BenchReport> {
  note(`making ${count} files of ${fileBytes} bytes`)
  const made = await makeFiles(folder, count)
  const trust = await makeTrust(folder, tls)
  const server = bestServer()
  const there: UploadSide[] = []
  const missing: string[] = []
  for (const side of uploadSides) {
    if (await side.isThere()) there.push(side)
    else missing.push(side.needs ?? side.name)
  }
  const places = [
    ...there.map((side) => ({ side, server })),
    ...there.filter(({ name }) => onSink.has(name)).map((side) => ({ side, server: sink })),
  ]
  const found = places.map((place) => ({ ...place, spent: [] as Spent[] }))
  for (let repeat = 0; repeat < repeats; repeat++) {
    // The order turns, so that a machine that grows slower or faster favours nobody.
    const order = found.map((_, i) => found[(i + repeat) % found.length])
    for (const place of order) {
      note(`repeat ${repeat + 1} of ${repeats}: ${place.side.name}, ${place.server}`)
      const job = { bucket, parallel, ...made, work: join(folder, 'work'), prefix: 'samples/' }
      place.spent.push(await runSide(place, { job, count }, trust))
    }
  }
  return {
    bench: 'upload',
    sizes: { files: count, bytes: count * fileBytes, parallel, repeats },
    method: method(server, { tls, missing }),
    figures: found.flatMap((place) => figuresOf(place, { count, all: found })),
  }
}

const sink: ServerName = 'sink'

interface Place {
  readonly side: UploadSide
  readonly server: ServerName
}

interface Measured extends Place {
  readonly spent: readonly Spent[]
}

/** One side, against a server that is new and empty. @throws Error: not all is there after it */
async function runSide(
  { side, server }: Place,
  { job: wanted, count }: { readonly job: Omit<UploadJob, 'endpoint'>; readonly count: number },
  trust: Trust,
): Promise<Spent> {
  // A run that was killed may have left some of it in a folder that is kept.
  await rm(wanted.work, { recursive: true, force: true })
  await mkdir(wanted.work, { recursive: true })
  const started = await startServer(server, wanted.work, trust)
  try {
    const job = { ...wanted, endpoint: started.endpoint }
    if (server !== 'sink') await atBucket('make', job, trust)
    const spent = await side.run(job, trust)
    if (server !== 'sink') await requireAll(side, { job, count }, trust)
    return spent
  } finally {
    await started.stop()
    await rm(wanted.work, { recursive: true, force: true })
  }
}

const atBucket = (what: 'make' | 'count', job: UploadJob, { env }: Trust): Promise<unknown> =>
  inFreshProcess({
    script: new URL('./upload-bucket.js', import.meta.url),
    args: [what, JSON.stringify(job)],
    env,
  })

const counted = z.object({ objects: z.number(), bytes: z.number() })

/** Ours writes a manifest too: what is at least all the files is all. */
async function requireAll(
  side: UploadSide,
  { job, count }: { readonly job: UploadJob; readonly count: number },
  trust: Trust,
): Promise<void> {
  const { objects, bytes } = counted.parse(await atBucket('count', job, trust))
  if (objects >= count && bytes >= count * fileBytes) return
  throw new Error(`not all is stored. side=${side.name}, want=${count}, found=${objects}`)
}

function figuresOf(
  { side, server, spent }: Measured,
  { count, all }: { readonly count: number; readonly all: readonly Measured[] },
): Figure[] {
  const name = server === 'sink' ? `${side.name}, sink` : side.name
  const rate = ({ seconds }: Spent) => count / seconds
  const own = all.find((other) => other.server === server && other.side.name === ours)?.spent ?? []
  const figures: Figure[] = [
    { name, unit: 'objects/s', values: spent.map(rate) },
    {
      name: `${name}: throughput`,
      unit: 'MB/s',
      values: spent.map((one) => (rate(one) * fileBytes) / 1e6),
    },
    {
      name: `${name}: processor time, 1,000 objects`,
      unit: 's',
      values: spent.map(({ cpuSeconds }) => (cpuSeconds / count) * 1000),
    },
  ]
  if (side.name === ours) return figures
  const ceiling = side.name.startsWith('bare')
  const claimed = side.name === bareWithChecksum || !ceiling
  const beaten = server === 'sink' ? undefined : ceiling ? 1 / 1.25 : 1
  return [
    ...figures,
    {
      name: `${ours} ÷ ${name}: objects/s`,
      unit: '×',
      values: spent.map((one, i) => rate(own[i]) / rate(one)),
      ...(claimed && beaten !== undefined && { target: { atLeast: beaten } }),
    },
    {
      name: `${ours} ÷ ${name}: processor time`,
      unit: '×',
      values: spent.map((one, i) => own[i].cpuSeconds / one.cpuSeconds),
      ...(claimed && beaten !== undefined && { target: { below: 1 / beaten } }),
    },
  ]
}

function method(
  server: ServerName,
  { tls, missing }: { readonly tls: boolean; readonly missing: readonly string[] },
): string[] {
  const named = { minio: 'MinIO', embedded: 'the embedded server', sink: 'the sink' }[server]
  return [
    `Each measurement: a new process against ${named}, new and empty, on this machine, through`,
    `${tls ? 'TLS' : 'plain HTTP'}; the sides by turns. Files and server lie in memory, on Linux.`,
    'Draftsmith: ledger and uploaders as threads, from the moment at which the files are told to',
    'be spooled until each was leased, read, put under a permit, confirmed by the checksum that',
    'the store compares and tells (where it does not compare: summed here), named by a manifest',
    'segment there, and removed from the spool.',
    'SDK, boto3, bare sockets: from the first file to the last answer, modules loaded before;',
    'boto3 sends no checksum. rclone, s5cmd: from start to end. The sink throws bodies away.',
    'Quotients are taken of the two sides of each repeat.',
    ...(missing.length === 0 ? [] : [`Not installed: ${missing.join(', ')}.`]),
  ]
}
