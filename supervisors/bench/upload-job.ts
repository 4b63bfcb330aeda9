import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

/** What each side of `bench upload` is told, as an argument of its process; what it answers. */

const job = z.strictObject({
  /** Of the server; keys are in the environment, as for any client of S3. */
  endpoint: z.string(),
  bucket: z.string(),
  /** Of the keys, with its slash. */
  prefix: z.string(),
  /** Where the files lie, and nothing else. */
  files: z.string(),
  /** A JSON file of their names: those that files have in the spool. */
  names: z.string(),
  /** Where a side may work; on the same file system. */
  work: z.string(),
  parallel: z.number(),
})
export type UploadJob = z.output<typeof job>

const answer = z.strictObject({ seconds: z.number(), cpuSeconds: z.number() })
/** `cpuSeconds`: of the side's own process, user and system, all threads. */
export type Spent = z.output<typeof answer>

export const region = 'us-east-1'

export const jobOf = (text = ''): UploadJob => job.parse(JSON.parse(text))

export const spentOf = (found: unknown): Spent => answer.parse(found)

/** The names of a job's files. */
export const namesOf = async ({ names }: UploadJob): Promise<readonly string[]> =>
  z.array(z.string()).parse(JSON.parse(await readFile(names, 'utf8')))

export const pathOf = ({ files }: UploadJob, name: string): string => join(files, name)

/** What the work takes, as the answer on stdout; modules are loaded before. */
export async function measured(work: () => Promise<void>): Promise<void> {
  const cpuBefore = process.cpuUsage()
  const before = performance.now()
  await work()
  const seconds = (performance.now() - before) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  process.stdout.write(JSON.stringify({ seconds, cpuSeconds: (user + system) / 1e6 }))
}

/** Each lane takes the next of the items when it is done with one. */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T, lane: number) => Promise<void>,
): Promise<void> {
  const left = items.values()
  const lane = async (_: unknown, index: number) => {
    for (const item of left) await work(item, index)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
