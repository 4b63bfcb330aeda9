/** A run of entries in memory, as typed columns of a fixed capacity. */
import { Failure } from '../failure.ts'
import { attemptMax, type EntryRows, type ManifestEntry, rowFault, statusCode } from './entry.ts'
import { isSampleHash, sampleKey } from './key.ts'

/** Each distinct text once; 0 stands for none. */
export class Texts {
  readonly #ids = new Map<string, number>()
  readonly #texts: (string | null)[] = [null]

  id(text: string | null): number {
    if (text === null) return 0
    const known = this.#ids.get(text)
    if (known !== undefined) return known
    this.#ids.set(text, this.#texts.length)
    return this.#texts.push(text) - 1
  }

  text(id: number): string | null {
    return this.#texts[id] ?? null
  }
}

/** Columns that hold nothing but zeros in most runs are made when a value needs them. */
export class Block implements EntryRows {
  count = 0
  readonly words: Uint32Array
  readonly lengths: Float64Array
  readonly tokens: Uint32Array
  readonly crc32s: Uint32Array
  readonly statuses: Uint8Array
  offsets: Float64Array | null = null
  attempts: Uint16Array | null = null
  #keys: Uint32Array | null = null
  #reasons: Uint32Array | null = null
  readonly #texts: Texts
  readonly #capacity: number

  constructor(capacity: number, texts = new Texts()) {
    this.#capacity = capacity
    this.#texts = texts
    this.words = new Uint32Array(capacity * 4)
    this.lengths = new Float64Array(capacity)
    this.tokens = new Uint32Array(capacity)
    this.crc32s = new Uint32Array(capacity)
    this.statuses = new Uint8Array(capacity)
  }

  key(row: number): string | null {
    return this.#keys ? this.#texts.text(this.#keys[row] ?? 0) : null
  }

  reason(row: number): string | null {
    return this.#reasons ? this.#texts.text(this.#reasons[row] ?? 0) : null
  }

  /** Row `from` of other columns becomes row `to`, which is at most one past the last. */
  copy(rows: EntryRows, { from, to }: { readonly from: number; readonly to: number }): void {
    for (let i = 0; i < 4; i++) this.words[to * 4 + i] = rows.words[from * 4 + i] ?? 0
    this.lengths[to] = rows.lengths[from] ?? 0
    this.tokens[to] = rows.tokens[from] ?? 0
    this.crc32s[to] = rows.crc32s[from] ?? 0
    this.statuses[to] = rows.statuses[from] ?? 0
    this.#setRare(to, rows.offsets?.[from] ?? 0, rows.attempts?.[from] ?? 0)
    this.#setTexts(to, rows.key(from), rows.reason(from))
    if (to === this.count) this.count++
  }

  /** @throws Failure `invalid`: the entry is none that a manifest may hold */
  push(entry: ManifestEntry): void {
    const row = this.count
    if (!isSampleHash(entry.hash)) throw refused(entry, 'hash')
    if (!isUint(entry.tokens, 0xffff_ffff)) throw refused(entry, `tokens=${entry.tokens}`)
    if (!isUint(entry.crc32, 0xffff_ffff)) throw refused(entry, `crc32=${entry.crc32}`)
    if (!isUint(entry.attempt, attemptMax)) throw refused(entry, `attempt=${entry.attempt}`)
    new Uint8Array(this.words.buffer).set(Buffer.from(entry.hash, 'hex'), row * 16)
    this.lengths[row] = entry.length
    this.tokens[row] = entry.tokens
    this.crc32s[row] = entry.crc32
    this.statuses[row] = statusCode(entry.status)
    this.#setRare(row, entry.offset, entry.attempt)
    const canonical = entry.key === sampleKey(entry.hash, entry.crc32)
    this.#setTexts(row, canonical ? null : entry.key, entry.reason)
    const fault = rowFault(this, row)
    if (fault) throw refused(entry, fault)
    this.count++
  }

  #setRare(row: number, offset: number, attempt: number): void {
    if (offset !== 0) this.offsets ??= new Float64Array(this.#capacity)
    if (this.offsets) this.offsets[row] = offset
    if (attempt !== 0) this.attempts ??= new Uint16Array(this.#capacity)
    if (this.attempts) this.attempts[row] = attempt
  }

  #setTexts(row: number, key: string | null, reason: string | null): void {
    if (key !== null) this.#keys ??= new Uint32Array(this.#capacity)
    if (this.#keys) this.#keys[row] = this.#texts.id(key)
    if (reason !== null) this.#reasons ??= new Uint32Array(this.#capacity)
    if (this.#reasons) this.#reasons[row] = this.#texts.id(reason)
  }
}

const isUint = (value: number, max: number): boolean =>
  Number.isInteger(value) && value >= 0 && value <= max

const refused = (entry: ManifestEntry, fault: string): Failure =>
  new Failure('invalid', `not an entry a manifest may hold. hash=${entry.hash}, ${fault}`)
