/** What a crash left in the spool: whole files are kept, everything half-written goes. */
import { crc32 } from 'node:zlib'
import type { ReadableFile } from '../disk.ts'
import { hasCode } from '../failure.ts'
import { type SpooledSample, spoolName } from './name.ts'
import type { Spool } from './spool.ts'
import { spoolFailure } from './spool-failure.ts'

const readers = 4
const readBytes = 1 << 20

/** What was found in the spool, and what became of it. */
export interface Recovered {
  /** Proved by length and checksum. */
  readonly good: readonly SpooledSample[]
  /** Names of files that were not what they said; deleted. */
  readonly torn: readonly string[]
  /** Temporary files; deleted. */
  readonly temps: readonly string[]
  /** Left alone. */
  readonly foreign: readonly string[]
}

/** How far a recovery is; `bytes` are those read and checked. */
export interface RecoverProgress {
  readonly checked: number
  readonly files: number
  readonly bytes: number
}

/**
 * Reads every spooled file once, in bounded memory. Others may add to the spool meanwhile: one
 * whose temporary file is taken for a dead writer's writes it again.
 *
 * @throws Failure `invalid`: the folder or a file cannot be read
 */
export async function recoverSpool(
  spool: Spool,
  options: {
    readonly onProgress?: (progress: RecoverProgress) => void
    /** Those that are known to be whole: neither read nor told. */
    readonly skip?: (sample: SpooledSample) => boolean
  } = {},
): Promise<Recovered> {
  const { samples: all, temps, foreign } = await spool.list()
  const samples = all.filter((sample) => !options.skip?.(sample))
  for (const name of temps) await spool.discard(name)
  const good: SpooledSample[] = []
  const torn: string[] = []
  let [checked, bytes] = [0, 0]
  const queue = samples.values()
  const reader = async () => {
    const buffer = new Uint8Array(readBytes)
    for (const sample of queue) {
      const state = await inspect(spool, sample, buffer)
      if (state === 'whole') good.push(sample)
      if (state === 'torn') torn.push(await discardTorn(spool, sample))
      bytes += sample.bytes
      options.onProgress?.({ checked: ++checked, files: samples.length, bytes })
    }
  }
  await Promise.all(Array.from({ length: Math.min(readers, samples.length) }, reader))
  return { good, torn, temps, foreign }
}

/**
 * Whether a file is what its name says.
 *
 * @param buffer   scratch; its length is what is read at once
 */
export async function inspect(
  spool: Pick<Spool, 'open' | 'path'>,
  sample: SpooledSample,
  buffer: Uint8Array,
): Promise<'whole' | 'torn' | 'gone'> {
  try {
    const file = await spool.open(sample)
    try {
      return (await proves(file, sample, buffer)) ? 'whole' : 'torn'
    } finally {
      await file.close()
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 'gone'
    // The disk lost it: it is computed again, like any other file that cannot be read back.
    if (hasCode(error, 'EIO')) return 'torn'
    throw spoolFailure(error, { what: 'spooled sample cannot be read', path: spool.path(sample) })
  }
}

async function proves(
  file: ReadableFile,
  sample: SpooledSample,
  buffer: Uint8Array,
): Promise<boolean> {
  if ((await file.size()) !== sample.bytes) return false
  let [crc, read] = [0, 0]
  while (read < sample.bytes) {
    const got = await file.read(buffer, read)
    if (got === 0) return false
    crc = crc32(buffer.subarray(0, got), crc)
    read += got
  }
  return crc === sample.crc32
}

async function discardTorn(spool: Spool, sample: SpooledSample): Promise<string> {
  const name = spoolName(sample)
  await spool.discard(name)
  return name
}
