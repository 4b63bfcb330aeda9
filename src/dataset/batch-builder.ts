/** Rows gathered into one Arrow record batch of the dataset's three columns. */
import { Field, Int8, Int32, List, makeData, RecordBatch, Schema, Struct } from 'apache-arrow'

/** The columns as `datasets` describes them, in dataset_info.json and in the schema's metadata. */
export const features = {
  input_ids: { feature: { dtype: 'int32', _type: 'Value' }, _type: 'List' },
  loss_mask: { feature: { dtype: 'int8', _type: 'Value' }, _type: 'List' },
  seq_len: { dtype: 'int32', _type: 'Value' },
} as const

const idsType = new List(new Field('item', new Int32(), true))
const maskType = new List(new Field('item', new Int8(), true))
const lengthType = new Int32()

export const datasetSchema = new Schema(
  [
    new Field('input_ids', idsType, true),
    new Field('loss_mask', maskType, true),
    new Field('seq_len', lengthType, true),
  ],
  new Map([['huggingface', JSON.stringify({ info: { features } })]]),
)

/** Its buffers are reused: a batch is valid until `clear()`. */
export class BatchBuilder {
  #rows = 0
  #ids = new Int32Array(1 << 16)
  #mask = new Int8Array(1 << 16)
  readonly #offsets: Int32Array<ArrayBuffer>
  readonly #lengths: Int32Array<ArrayBuffer>

  constructor(rowsMax: number) {
    this.#offsets = new Int32Array(rowsMax + 1)
    this.#lengths = new Int32Array(rowsMax)
  }

  get rows(): number {
    return this.#rows
  }

  get tokens(): number {
    return this.#offsets[this.#rows] ?? 0
  }

  clear(): void {
    this.#rows = 0
  }

  /** `lossMask` is as long as `inputIds`. */
  add(inputIds: Int32Array, lossMask: Uint8Array): void {
    const start = this.tokens
    const end = start + inputIds.length
    this.#reserve(end)
    this.#ids.set(inputIds, start)
    this.#mask.set(lossMask, start)
    this.#lengths[this.#rows] = inputIds.length
    this.#rows += 1
    this.#offsets[this.#rows] = end
  }

  batch(): RecordBatch {
    const length = this.#rows
    const valueOffsets = this.#offsets.subarray(0, length + 1)
    const ids = makeData({ type: new Int32(), data: this.#ids.subarray(0, this.tokens) })
    const mask = makeData({ type: new Int8(), data: this.#mask.subarray(0, this.tokens) })
    const columns = [
      makeData({ type: idsType, length, nullCount: 0, valueOffsets, child: ids }),
      makeData({ type: maskType, length, nullCount: 0, valueOffsets, child: mask }),
      makeData({ type: lengthType, length, nullCount: 0, data: this.#lengths.subarray(0, length) }),
    ]
    const children = makeData({
      type: new Struct(datasetSchema.fields),
      length,
      nullCount: 0,
      children: columns,
    })
    return new RecordBatch(datasetSchema, children)
  }

  #reserve(tokens: number): void {
    if (tokens <= this.#ids.length) return
    const room = Math.max(tokens, this.#ids.length * 2)
    const ids = new Int32Array(room)
    const mask = new Int8Array(room)
    ids.set(this.#ids)
    mask.set(this.#mask)
    this.#ids = ids
    this.#mask = mask
  }
}
