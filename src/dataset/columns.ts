/** Which columns of a schema are the sample's, and whether their types can be. Knows no bytes. */
import { DataType, type Schema } from 'apache-arrow'
import { Failure } from '../failure.ts'
import { near } from '../near.ts'

/** Names of the dataset's columns, as configured. */
export interface ColumnNames {
  readonly inputIds: string
  /** Null: the dataset has no loss mask. */
  readonly lossMask: string | null
  /** A check on the lengths, where the dataset has the column; null: no check. */
  readonly seqLen: string | null
}

export interface IntType {
  readonly bits: 8 | 16 | 32 | 64
  readonly signed: boolean
}

/** A fixed-width value: an integer, or (one bit) a boolean. */
export type ItemType = IntType | { readonly bits: 1 }

export interface ListColumn<Item extends ItemType = ItemType> {
  /** Among the schema's fields. */
  readonly index: number
  readonly name: string
  /** Bits of an offset; or how many items each list has. */
  readonly offsets: 32 | 64 | { readonly itemsEach: number }
  readonly item: Item
}

export interface IntColumn {
  readonly index: number
  readonly name: string
  readonly item: IntType
}

export interface Columns {
  readonly inputIds: ListColumn<IntType>
  readonly lossMask: ListColumn | null
  readonly seqLen: IntColumn | null
}

/**
 * @param path  names the file in errors
 * @throws Failure `invalid`: a named column is missing (`seqLen` may be) or of another kind
 */
export function findColumns(schema: Schema, names: ColumnNames, path: string): Columns {
  const { inputIds, lossMask, seqLen } = names
  const hasSeqLen = schema.fields.some(({ name }) => name === seqLen)
  return {
    inputIds: idsColumn(schema, inputIds, path),
    lossMask: lossMask === null ? null : listColumn(schema, lossMask, path),
    seqLen: seqLen !== null && hasSeqLen ? intColumn(schema, seqLen, path) : null,
  }
}

/** @throws Failure `invalid`: a column has one type in one shard, another in another */
export function checkSameTypes(
  names: ColumnNames,
  first: { readonly schema: Schema; readonly path: string },
  other: { readonly schema: Schema; readonly path: string },
): void {
  for (const name of [names.inputIds, names.lossMask, names.seqLen]) {
    const want = typeOf(first.schema, name)
    const found = typeOf(other.schema, name)
    if (want === found) continue
    const types = `want=${want} as in ${first.path}, found=${found}`
    throw new Failure(
      'invalid',
      `shards differ in a column's type. column=${name}, file=${other.path}, ${types}`,
      { remedy: 'Cast the columns to one type and save the dataset again.' },
    )
  }
}

const typeOf = (schema: Schema, name: string | null): string =>
  String(schema.fields.find((field) => field.name === name)?.type ?? 'no such column')

function idsColumn(schema: Schema, name: string, path: string): ListColumn<IntType> {
  const column = listColumn(schema, name, path)
  const { item } = column
  if (item.bits !== 1) return { ...column, item }
  throw wrongType(name, path, 'list of integers', findField(schema, name, path).type)
}

function listColumn(schema: Schema, name: string, path: string): ListColumn {
  const { index, type } = findField(schema, name, path)
  const want = 'list of integers'
  if (!DataType.isList(type) && !DataType.isLargeList(type) && !DataType.isFixedSizeList(type)) {
    throw wrongType(name, path, want, type)
  }
  const item = itemType(type.children[0].type)
  if (!item) throw wrongType(name, path, want, type)
  if (DataType.isFixedSizeList(type)) {
    if (!(type.listSize >= 0)) throw wrongType(name, path, want, type)
    return { index, name, offsets: { itemsEach: type.listSize }, item }
  }
  return { index, name, offsets: DataType.isLargeList(type) ? 64 : 32, item }
}

function intColumn(schema: Schema, name: string, path: string): IntColumn {
  const { index, type } = findField(schema, name, path)
  const item = itemType(type)
  if (!item || item.bits === 1) throw wrongType(name, path, 'integer', type)
  return { index, name, item }
}

function itemType(type: DataType): ItemType | undefined {
  if (DataType.isBool(type)) return { bits: 1 }
  if (!DataType.isInt(type)) return undefined
  // A damaged schema may name any width, whatever the type says.
  const bits = intBits.find((width) => width === type.bitWidth)
  return bits && { bits, signed: type.isSigned }
}

const intBits = [8, 16, 32, 64] as const

function findField(schema: Schema, name: string, path: string): { index: number; type: DataType } {
  // A schema may leave a name out, whatever the type says.
  const columns = schema.fields.map((field) => `${field.name}`)
  const index = columns.indexOf(name)
  const field = schema.fields[index]
  if (field) return { index, type: field.type }
  if (columns.length === 1 && columns[0] === 'indices') {
    throw new Failure(
      'invalid',
      `a dataset file is an indices mapping, a cache that holds no samples. file=${path}`,
      { remedy: 'Name the dataset itself; `save_to_disk` writes the selected rows out.' },
    )
  }
  const guess = near(name, columns)
  const nearest = guess === undefined ? '' : ` Nearest: ${guess}.`
  throw new Failure(
    'invalid',
    `the dataset has no such column. file=${path}, want=${name}, found=${columns.join(' ')}`,
    { remedy: `Name the dataset's columns under dataset.columns.${nearest}` },
  )
}

const wrongType = (name: string, path: string, want: string, found: DataType): Failure =>
  new Failure(
    'invalid',
    `a column's type cannot be read. column=${name}, file=${path}, want=${want}, found=${found}`,
    { remedy: 'Name another column under dataset.columns, or cast it and save the dataset again.' },
  )
