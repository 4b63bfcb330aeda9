/** What may be a key, the same for every store: a key that one of them takes, all of them take. */
import { Failure } from '../failure.ts'

/** S3's own limit, in bytes of UTF-8. */
const KEY_BYTES_MAX = 1024

/** The side folder of `file://` stores, which no key may reach. */
export const SIDE_FOLDER = '.draftsmith'

/** Throws Failure `invalid`: the key could leave the store, or not every store would take it. */
export function checkKey(key: string): void {
  const wrong = faultOf(key.split('/'), key)
  if (wrong) refuse('key', key, wrong)
}

/** As `checkKey`, for the start of a key: it may be empty, and end anywhere. */
export function checkPrefix(prefix: string): void {
  const parts = prefix.split('/')
  const wrong = faultOf([...parts.slice(0, -1), parts.at(-1) || 'x'], prefix)
  if (wrong) refuse('prefix', prefix, wrong)
}

function faultOf(parts: readonly string[], key: string): string | undefined {
  if (parts.includes('')) return 'a part is empty'
  if (parts.includes('.') || parts.includes('..')) return 'a part is . or ..'
  if (parts[0] === SIDE_FOLDER) return `${SIDE_FOLDER} is the store's own`
  if (/[\\\p{Cc}\p{Cs}]/u.test(key)) return 'a character is a backslash, a control or half a pair'
  if (Buffer.byteLength(key) > KEY_BYTES_MAX) return `it is longer than ${KEY_BYTES_MAX} bytes`
  return undefined
}

function refuse(what: string, key: string, wrong: string): never {
  throw new Failure('invalid', `${what} cannot be stored: ${wrong}. ${what}=${JSON.stringify(key)}`)
}

/** The order of the keys' UTF-8 bytes, in which every store lists; found without encoding them. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const unit = a.charCodeAt(i)
    const other = b.charCodeAt(i)
    if (unit !== other) return byteRank(unit) - byteRank(other)
  }
  return a.length - b.length
}

/**
 * Halves of a pair stand for characters above U+FFFF: in UTF-8 those come last, in UTF-16 before
 * U+E000.
 */
function byteRank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}
