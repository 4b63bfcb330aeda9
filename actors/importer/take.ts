import { join } from 'node:path'
import type { SampleRef } from '../../protocol/sample.ts'
import { contentHash } from '../../src/dataset/fingerprint.ts'
import type { RowIndex } from '../../src/dataset/row-index.ts'
import {
  type Candidate,
  type Expected,
  examine,
  isLeft,
  type Left,
  readStates,
} from '../../src/sample/earlier.ts'
import { encodeSample, sampleBytesMax } from '../../src/sample/encode.ts'
import { guessedRow } from '../../src/sample/find.ts'
import type { Keeper } from '../../src/spool/keep.ts'

/** A file whose token ids are those of a row. */
export interface Proved extends Candidate {
  /** As it was found. */
  readonly path: string
  /** 16 bytes */
  readonly hash: Uint8Array
  /** Of the file that will lie in the spool. */
  readonly bytesMax: number
}

export interface TakeParts extends Expected {
  readonly dir: string
  readonly rows: Pick<RowIndex, 'has'>
  readonly keeper: Pick<Keeper, 'keep'>
}

/** One file's way into the spool. */
export class Take {
  readonly #parts: TakeParts

  constructor(parts: TakeParts) {
    this.#parts = parts
  }

  /** Reads header and token ids, and looks for their row. */
  async prove(path: string): Promise<Proved | Left> {
    const { dir, format, rows } = this.#parts
    const found = await examine(join(dir, path), this.#parts)
    if (isLeft(found)) return found
    const hash = contentHash(found.ids)
    if (!(await rows.has(hash, guessedRow(path)))) {
      const facts = `${found.ids.length} tokens, hash=${hash.toString('hex')}`
      return { left: 'no usable row has its token ids', facts }
    }
    return { ...found, path, hash, bytesMax: sampleBytesMax(found.ids.length, format) }
  }

  /** @returns  null where it was given up: there was no room, and nobody waits any more */
  async spool({ hash, ...found }: Proved): Promise<SampleRef | Left | null> {
    const { format, keeper } = this.#parts
    const read = await readStates(found, format)
    if (isLeft(read)) return read
    const content = { hash: Buffer.from(hash).toString('hex'), ids: found.ids, ...read }
    const { parts, ...sample } = encodeSample(content, format)
    return (await keeper.keep({ ...sample, parts })) ? sample : null
  }
}
