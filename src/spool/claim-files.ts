/** The files behind the claims: one a batch, and the streak. Knows no meaning of theirs. */
import { join } from 'node:path'
import { z } from 'zod'
import { randomHex } from '../clock.ts'
import type { DiskNow, DiskUse } from '../disk.ts'
import { Failure, hasCode } from '../failure.ts'
import { spoolFailure } from './spool-failure.ts'

const recordSchema = z.strictObject({
  batch: z.string(),
  rows: z.int().positive(),
  /** Null: claimed by nobody now. */
  by: z.string().nullable(),
  witnessed: z.int().nonnegative(),
  unwitnessed: z.int().nonnegative(),
})
export type ClaimRecord = z.output<typeof recordSchema>

const streakName = 'streak.json'
const streakSchema = z.array(z.string())
const idPattern = /^[A-Za-z0-9_-]+(\.[01])*$/
const suffix = '.claim.json'
const tempSuffix = '.tmp'

/**
 * Each file is replaced by a rename, so that another thread reads the old or the new one, whole.
 */
export class ClaimFiles {
  readonly #dir: string
  readonly #use: DiskUse

  constructor(dir: string, use: DiskUse) {
    this.#dir = dir
    this.#use = use
    attempt('claims folder cannot be made', dir, () => use.disk.now.makeFolder(dir))
  }

  records(): ClaimRecord[] {
    return this.#files()
      .filter((name) => name.endsWith(suffix))
      .flatMap((name) => this.read(name.slice(0, -suffix.length)) ?? [])
  }

  read(batch: string): ClaimRecord | undefined {
    const record = this.#json(fileOf(batch), recordSchema)
    return record?.batch === batch ? record : undefined
  }

  write(batch: string, record: ClaimRecord): void {
    this.#replace(fileOf(batch), record)
  }

  remove(batch: string): void {
    this.#removeFile(fileOf(batch))
  }

  streak(): readonly string[] {
    return this.#json(streakName, streakSchema) ?? []
  }

  writeStreak(streak: readonly string[]): void {
    if (streak.length > 0) this.#replace(streakName, streak)
    else this.#removeFile(streakName)
  }

  /** Removes what a write that never ended left. */
  sweep(): void {
    for (const name of this.#files()) if (name.endsWith(tempSuffix)) this.#removeFile(name)
  }

  /** In order. What is no file, such as a folder or a pipe, is not ours: it is left alone. */
  #files(): string[] {
    const entries = attempt('claims cannot be read', this.#dir, () =>
      this.#use.disk.now.list(this.#dir),
    )
    return entries
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort()
  }

  #json<T>(name: string, schema: z.ZodType<T>): T | undefined {
    const path = join(this.#dir, name)
    const text = attempt('claim cannot be read', path, () => textOf(path, this.#use))
    return text === undefined ? undefined : parsed(text, schema)
  }

  #replace(name: string, value: unknown): void {
    const path = join(this.#dir, name)
    const { disk, random } = this.#use
    const temp = `${path}.${randomHex(random, 12)}${tempSuffix}`
    attempt('claim cannot be written', path, () => {
      try {
        disk.now.create(temp, Buffer.from(JSON.stringify(value)))
        disk.now.rename(temp, path)
      } catch (error) {
        disk.now.remove(temp)
        throw error
      }
    })
  }

  #removeFile(name: string): void {
    const path = join(this.#dir, name)
    attempt('claim cannot be removed', path, () => this.#use.disk.now.remove(path))
  }
}

function fileOf(batch: string): string {
  if (idPattern.test(batch)) return `${batch}${suffix}`
  throw new Failure('invalid', `not a batch id. want=b000017 or b000017.0, found=${batch}`)
}

function textOf(path: string, { disk }: DiskUse): string | undefined {
  const bytes = bytesOf(path, disk.now)
  if (bytes === 'gone') return undefined
  if (bytes !== undefined) return bytes.toString('utf8')
  throw new Failure('invalid', `a claim's name is taken by what is no file. path=${path}`, {
    remedy: 'Remove it, or move it out of the work folder.',
  })
}

function bytesOf(path: string, disk: DiskNow): Buffer | undefined | 'gone' {
  try {
    return disk.readWhole(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 'gone'
    throw error
  }
}

function parsed<T>(text: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function attempt<T>(what: string, path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw spoolFailure(error, { what, path })
  }
}
