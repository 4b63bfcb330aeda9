/**
 * Finds the buffers of the wanted columns in a record batch, from metadata alone, and checks that
 * they are as long as their rows need. A batch lists its nodes and buffers depth first, so those of
 * a column lie behind all those of the columns before it, whatever their types.
 *
 * @source Arrow columnar format, "Buffer Listing for Each Layout" and "RecordBatch message"
 */
import { DataType, MetadataVersion, type Schema, Type, UnionMode } from 'apache-arrow'
import { Failure } from '../failure.ts'
import type { Columns, IntColumn, ListColumn } from './columns.ts'
import type { BatchLayout } from './messages.ts'

/** Bytes of the file. */
export interface Region {
  readonly at: number
  readonly bytes: number
}

/** A column of fixed-width values. */
export interface ValueRegions {
  readonly length: number
  /** A bit a value, 0 where it is null; undefined where none is. */
  readonly validity: Region | undefined
  readonly values: Region
}

export interface ListRegions {
  /** A bit a row, 0 where it is null; undefined where none is. */
  readonly validity: Region | undefined
  /** Undefined where the lists are of fixed size. */
  readonly offsets: Region | undefined
  readonly items: ValueRegions
}

/** The wanted columns of one record batch. */
export interface BatchRegions {
  readonly rows: number
  readonly inputIds: ListRegions
  readonly lossMask: ListRegions | null
  readonly seqLen: ValueRegions | null
}

/** @throws Failure `corrupt`: the batch lacks buffers, or some are too short */
export function findRegions(
  path: string,
  schema: Schema,
  columns: Columns,
  batch: BatchLayout,
): BatchRegions {
  const starts = columnStarts(schema, batch)
  const listAt = (column: ListColumn) => new Cursor(path, batch, starts[column.index]).list(column)
  const intAt = (column: IntColumn) => new Cursor(path, batch, starts[column.index]).top(column)
  return {
    rows: batch.rows,
    inputIds: listAt(columns.inputIds),
    lossMask: columns.lossMask && listAt(columns.lossMask),
    seqLen: columns.seqLen && intAt(columns.seqLen),
  }
}

interface Position {
  node: number
  buffer: number
  variadic: number
}

/** For each field of the schema, which node and buffer of the batch are its first. */
function columnStarts(schema: Schema, batch: BatchLayout): Position[] {
  const at: Position = { node: 0, buffer: 0, variadic: 0 }
  return schema.fields.map(({ type }) => {
    const start = { ...at }
    pass(type, batch, at)
    return start
  })
}

function pass(type: DataType, batch: BatchLayout, at: Position): void {
  at.node++
  at.buffer += ownBuffers(type, batch, at)
  // A dictionary's values travel in messages of their own.
  if (DataType.isDictionary(type)) return
  for (const child of type.children ?? []) pass(child.type, batch, at)
}

function ownBuffers(type: DataType, batch: BatchLayout, at: Position): number {
  switch (type.typeId) {
    case Type.Null:
      return 0
    case Type.Struct:
    case Type.FixedSizeList:
      return 1
    case Type.Binary:
    case Type.LargeBinary:
    case Type.Utf8:
    case Type.LargeUtf8:
      return 3
    case Type.BinaryView:
    case Type.Utf8View:
      return 2 + (batch.variadicBufferCounts[at.variadic++] ?? 0)
    case Type.Union: {
      const validity = batch.version < MetadataVersion.V5 ? 1 : 0
      const dense = DataType.isUnion(type) && type.mode === UnionMode.Dense
      return validity + (dense ? 2 : 1)
    }
    default:
      return 2
  }
}

type WantedLength = { readonly exactly: number } | { readonly atLeast: number }

/** Reads off one column's nodes and buffers, in order. */
class Cursor {
  readonly #path: string
  readonly #batch: BatchLayout
  readonly #at: Position

  constructor(
    path: string,
    batch: BatchLayout,
    at: Position = { node: 0, buffer: 0, variadic: 0 },
  ) {
    this.#path = path
    this.#batch = batch
    this.#at = at
  }

  list(column: ListColumn): ListRegions {
    const { rows } = this.#batch
    const { nullCount } = this.#node(column.name, { exactly: rows })
    const validity = this.#bits(column.name, rows, nullCount)
    if (typeof column.offsets === 'object') {
      const atLeast = rows * column.offsets.itemsEach
      return { validity, offsets: undefined, items: this.#values(column, { atLeast }) }
    }
    // Writers may leave the offsets out where there is no row.
    const offsetsBytes = rows === 0 ? 0 : ((rows + 1) * column.offsets) / 8
    const offsets = this.#buffer(column.name, 'offsets', offsetsBytes)
    return { validity, offsets, items: this.#values(column, { atLeast: 0 }) }
  }

  top(column: IntColumn): ValueRegions {
    return this.#values(column, { exactly: this.#batch.rows })
  }

  #values(column: ListColumn | IntColumn, want: WantedLength): ValueRegions {
    const { length, nullCount } = this.#node(column.name, want)
    const validity = this.#bits(column.name, length, nullCount)
    const bytes = Math.ceil((length * column.item.bits) / 8)
    return { length, validity, values: this.#buffer(column.name, 'values', bytes) }
  }

  #node(name: string, want: WantedLength): { length: number; nullCount: number } {
    const node = this.#batch.nodes[this.#at.node++]
    const [min, max] =
      'exactly' in want ? [want.exactly, want.exactly] : [want.atLeast, Number.MAX_SAFE_INTEGER]
    if (!node || node.length < min || node.length > max || node.nullCount < 0) {
      const found = node ? `length ${node.length}, nulls ${node.nullCount}` : 'none'
      throw this.#damaged(name, 'has a wrong length', `${min}`, found)
    }
    return node
  }

  #bits(name: string, length: number, nullCount: number): Region | undefined {
    const region = this.#buffer(name, 'validity', nullCount === 0 ? 0 : Math.ceil(length / 8))
    return nullCount === 0 ? undefined : region
  }

  #buffer(name: string, role: string, bytes: number): Region {
    const buffer = this.#batch.buffers[this.#at.buffer++]
    if (!buffer || buffer.length < bytes) {
      const found = buffer ? `${buffer.length}` : 'none'
      throw this.#damaged(name, `has too short a buffer of ${role}`, `${bytes} bytes`, found)
    }
    return { at: this.#batch.bodyAt + buffer.offset, bytes }
  }

  #damaged(name: string, fact: string, want: string, found: string): Failure {
    const place = `column=${name}, file=${this.#path}, offset=${this.#batch.at}`
    return new Failure(
      'corrupt',
      `a record batch is damaged: a column ${fact}. ${place}, want=${want}, found=${found}`,
      { remedy: 'The file is damaged: copy or write it again.' },
    )
  }
}
