/** One entry of a header: a tensor's type, shape and place, seen without the others. */

import { Failure } from '../failure.ts'
import { type DType, dtypeBits, isDType } from '../tensor/dtype.ts'
import { type Json, JsonObject, OtherNumber } from './json.ts'

/** As written: 64-bit integers, so that nothing is rounded before it is compared. */
export interface Entry {
  readonly dtype: DType
  readonly shape: readonly bigint[]
  /** Counted from the end of the header. */
  readonly start: bigint
  readonly end: bigint
}

interface Fields {
  readonly dtype: Json
  readonly shape: Json
  readonly data_offsets: Json
}

const maxU64 = 2n ** 64n - 1n

/**
 * @param where  file and tensor, for the message
 * @throws       Failure `corrupt`: a field is missing, twice there or of another kind
 */
export function parseEntry(value: Json, where: string): Entry {
  const { dtype, shape, data_offsets: offsets } = fieldsOf(value, where)
  const [start, end, ...more] = integers(offsets, 'data_offsets', where)
  if (start === undefined || end === undefined || more.length > 0) {
    throw malformed('data_offsets', 'two integers', offsets, where)
  }
  return { dtype: parseDType(dtype, where), shape: integers(shape, 'shape', where), start, end }
}

/** An entry is an object, in which other keys may stand, or an array of its three fields. */
function fieldsOf(value: Json, where: string): Fields {
  if (Array.isArray(value) && value.length === 3) {
    const [dtype, shape, offsets] = value
    return { dtype, shape, data_offsets: offsets }
  }
  if (!(value instanceof JsonObject)) throw malformed('entry', 'an object', value, where)
  const field = (name: string): Json => {
    const found = value.members.filter(([key]) => key === name)
    if (found.length === 1) return found[0][1]
    const what = found.length === 0 ? 'lacks a field' : 'has a field twice'
    throw new Failure('corrupt', `header ${what}. ${where}, field=${name}`)
  }
  return { dtype: field('dtype'), shape: field('shape'), data_offsets: field('data_offsets') }
}

/** `"F32"`, or as Rust's serde also spells a name without content, `{"F32": null}`. */
function parseDType(value: Json, where: string): DType {
  let name = value
  if (value instanceof JsonObject && value.members.length === 1) {
    const [[key, content]] = value.members
    if (content === null) name = key
  }
  if (typeof name === 'string' && isDType(name)) return name
  throw malformed('dtype', 'a type of safetensors 0.8', value, where)
}

function integers(value: Json, field: string, where: string): bigint[] {
  if (!Array.isArray(value)) throw malformed(field, 'an array of unsigned integers', value, where)
  return value.map((item) => {
    if (typeof item === 'bigint') return item
    throw malformed(field, 'unsigned 64-bit integers', item, where)
  })
}

/**
 * The bytes that type and shape ask for.
 *
 * @throws  Failure `corrupt`: counted in bits they overflow 64 bits, though a zero may follow, or
 *          they fill no whole byte
 */
export function entryBytes(entry: Entry, where: string): bigint {
  let bits = 1n
  for (const factor of [...entry.shape, BigInt(dtypeBits[entry.dtype])]) {
    bits *= factor
    if (bits > maxU64) {
      throw new Failure(
        'corrupt',
        `size of tensor overflows 64 bits. ${where}, shape=[${entry.shape}]`,
      )
    }
  }
  if (bits % 8n === 0n) return bits / 8n
  throw new Failure('corrupt', `tensor does not fill whole bytes. ${where}, bits=${bits}`)
}

function malformed(field: string, want: string, value: Json, where: string): Failure {
  const facts = `${where}, field=${field}, want=${want}, found=${describe(value)}`
  return new Failure('corrupt', `header has a malformed field. ${facts}`)
}

function describe(value: Json): string {
  if (value instanceof JsonObject) return 'an object'
  if (value instanceof OtherNumber) return value.text
  if (Array.isArray(value)) return `an array of ${value.length}`
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : String(value)
}
