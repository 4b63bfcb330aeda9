/**
 * The content hashes of a dataset's rows, gathered as rows are read, so that a resume need not read
 * them again. The table is a cache: a file that is damaged or of another dataset is refused, and
 * the caller starts an empty one.
 *
 * File, little-endian: magic `DSROWHS1`, rows (uint32), CRC-32 of all that follows (uint32), the
 * dataset's fingerprint [32], a bit a row that is known, 16 bytes a row.
 */
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { type DiskNow, systemDisk } from '../disk.ts'
import { Failure } from '../failure.ts'

/** Beside the dataset's copy in the store, so that a new machine need not hash the rows again. */
export const rowHashesKey = 'dataset/row-hashes.bin'
export const rowHashesFile = (work: string): string => join(work, 'row-hashes.bin')

const magic = 'DSROWHS1'
const headerBytes = magic.length + 8
const fingerprintBytes = 32
const hashBytes = 16

const payloadBytes = (rows: number): number =>
  fingerprintBytes + Math.ceil(rows / 8) + rows * hashBytes

/** Row → the 16 bytes of its content hash, for the rows that were read so far. */
export class RowHashes {
  readonly rows: number
  /** Fingerprint, known bits and hashes, as in the file. */
  readonly #payload: Uint8Array<ArrayBuffer>
  readonly #knownBits: Uint8Array<ArrayBuffer>
  readonly #hashes: Uint8Array<ArrayBuffer>
  #known = 0

  /** An empty table. @param fingerprint  32 bytes, of `datasetFingerprint` */
  constructor(rows: number, fingerprint: Uint8Array) {
    this.rows = rows
    const bitsEnd = fingerprintBytes + Math.ceil(rows / 8)
    this.#payload = new Uint8Array(payloadBytes(rows))
    this.#payload.set(fingerprint.subarray(0, fingerprintBytes))
    this.#knownBits = this.#payload.subarray(fingerprintBytes, bitsEnd)
    this.#hashes = this.#payload.subarray(bitsEnd)
  }

  /** Rows whose hash is in the table. */
  get known(): number {
    return this.#known
  }

  /** @param hash  16 bytes, of `contentHash` */
  set(row: number, hash: Uint8Array): void {
    const byte = this.#knownBits[row >> 3]
    const bit = 1 << (row & 7)
    if ((byte & bit) === 0) this.#known++
    this.#knownBits[row >> 3] = byte | bit
    this.#hashes.set(hash, row * hashBytes)
  }

  /** 16 bytes, a view on the table; undefined where the row's hash is not known. */
  get(row: number): Uint8Array<ArrayBuffer> | undefined {
    if ((this.#knownBits[row >> 3] & (1 << (row & 7))) === 0) return undefined
    return this.#hashes.subarray(row * hashBytes, (row + 1) * hashBytes)
  }

  /** Atomic: a reader sees the table before or after, never a part. A cache needs no sync. */
  save(path: string, disk: DiskNow = systemDisk.now): void {
    const header = Buffer.alloc(headerBytes)
    header.write(magic, 'latin1')
    header.writeUInt32LE(this.rows, magic.length)
    header.writeUInt32LE(crc32(this.#payload), magic.length + 4)
    const temporary = `${path}.${process.pid}.tmp`
    try {
      disk.remove(temporary)
      disk.create(temporary, Buffer.concat([header, this.#payload]))
      disk.rename(temporary, path)
    } finally {
      disk.remove(temporary)
    }
  }

  /**
   * The table as it was saved.
   *
   * @param bytes  a file that `save` wrote
   * @throws Failure `corrupt`: damaged, or of another dataset: drop it
   */
  static decode(bytes: Uint8Array, rows: number, fingerprint: Uint8Array): RowHashes {
    const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const want = headerBytes + payloadBytes(rows)
    if (file.length < headerBytes || file.toString('latin1', 0, magic.length) !== magic) {
      throw refused('not such a table', magic, file.toString('latin1', 0, magic.length))
    }
    const foundRows = file.readUInt32LE(magic.length)
    if (foundRows !== rows) throw refused('of another dataset', `${rows} rows`, `${foundRows}`)
    if (file.length !== want) throw refused('cut or grown', `${want} bytes`, `${file.length}`)
    const payload = file.subarray(headerBytes)
    const [wantCrc, foundCrc] = [file.readUInt32LE(magic.length + 4), crc32(payload)]
    if (wantCrc !== foundCrc) throw refused('damaged', `crc32 ${wantCrc}`, `${foundCrc}`)
    const found = payload.subarray(0, fingerprintBytes)
    if (Buffer.compare(found, fingerprint) !== 0) {
      const wantHex = Buffer.from(fingerprint).toString('hex')
      throw refused('of another dataset', wantHex, found.toString('hex'))
    }
    // Only now is the number of rows one that the file bears out.
    const table = new RowHashes(rows, fingerprint)
    table.#payload.set(payload)
    for (const byte of table.#knownBits) for (let b = byte; b > 0; b &= b - 1) table.#known++
    return table
  }

  /** For whoever has no dataset to compare it with: taken for what it says of itself. */
  static decodeAny(bytes: Uint8Array): RowHashes {
    const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, headerBytes))
    const rows = start.length < headerBytes ? 0 : start.readUInt32LE(magic.length)
    const fingerprint = bytes.subarray(headerBytes, headerBytes + fingerprintBytes)
    return RowHashes.decode(bytes, rows, fingerprint)
  }
}

const refused = (fact: string, want: string, found: string): Failure =>
  new Failure('corrupt', `a table of row hashes is ${fact}. want=${want}, found=${found}`, {
    remedy: 'Drop it: rows are hashed again as they are read.',
  })
