import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import type { Capture } from '../../../actors/extractor/capture.ts'
import { type ExtractTools, extract, type ModelInput } from '../../../actors/extractor/extract.ts'
import type { Batch, SampleRef } from '../../../protocol/sample.ts'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { hashOfIds } from '../../support/planned.ts'

const captures = ['layer_1', 'layer_4', 'final']
const hidden = 2

/** What layer `layer` makes of a token: numbers that tell where they come from. */
const numberOf = (id: number, layer: number, at: number) => id + layer / 10 + at / 100

/** A model that pads nothing away: padding shows, as ids of 0 do in a real one. */
function modelOf({ ids, rows, width }: ModelInput): Float32Array[] {
  return captures.map((_, layer) =>
    Float32Array.from({ length: rows * width * hidden }, (_, i) =>
      numberOf(Number(ids[Math.floor(i / hidden)]), layer, i % hidden),
    ),
  )
}

const batchOf = (
  rows: readonly (readonly number[])[],
  unwanted: readonly number[] = [],
): Batch => ({
  id: 'b000000',
  rows: rows.map((ids, row) => {
    return { row, hash: hashOfIds(ids), tokens: ids.length, wanted: !unwanted.includes(row) }
  }),
  tokenIds: Int32Array.from(rows.flat()),
})

/** Tools that keep files in memory; `change` what the model gives. */
type Change = (given: Float32Array[], input: ModelInput) => readonly Capture[]

function toolsOf(change: Change = (given) => given) {
  const files = new Map<string, { ref: SampleRef; bytes: Buffer }>()
  const inputs: ModelInput[] = []
  const tools: ExtractTools = {
    forward: async (input) => {
      inputs.push(input)
      return change(modelOf(input), input)
    },
    keep: async ({ parts, ...ref }) => {
      files.set(ref.hash, { ref, bytes: Buffer.concat(parts) })
      return true
    },
    captures,
    hidden,
    dtype: 'f32',
    metadata: { format: 'draftsmith-1', captures: captures.join(',') },
  }
  return { tools, files, inputs }
}

const rows = [[3], [5, 6, 7], [8, 9]]

test('extract: each row has its own states, layer by layer, without padding', async () => {
  const { tools, files, inputs } = toolsOf()
  const { spooled, quarantined, batch } = await extract(batchOf(rows), tools)
  assert.deepEqual([batch, quarantined], ['b000000', []])
  assert.deepEqual([...(inputs[0]?.ids ?? [])].map(Number), [3, 0, 0, 5, 6, 7, 8, 9, 0])
  for (const ids of rows) {
    const { ref, bytes } = files.get(hashOfIds(ids)) ?? assert.fail('there is no such file')
    assert.deepEqual([ref.tokens, ref.bytes, ref.crc32], [ids.length, bytes.length, crc32(bytes)])
    const { tensors, metadata } = readSafetensors(bytes, 'sample')
    const states = tensors.get('hidden_states') ?? assert.fail('there are no states')
    assert.deepEqual(states.shape, [ids.length, captures.length, hidden])
    const values = new Float32Array(Uint8Array.from(states.data).buffer)
    const want = ids.flatMap((id) =>
      captures.flatMap((_, layer) => [0, 1].map((at) => Math.fround(numberOf(id, layer, at)))),
    )
    assert.deepEqual([...values], want)
    const tokens = tensors.get('token_ids') ?? assert.fail('there are no token ids')
    const read = new BigInt64Array(Uint8Array.from(tokens.data).buffer)
    assert.deepEqual([...read].map(Number), ids)
    assert.equal(metadata.get('captures'), 'layer_1,layer_4,final')
  }
  assert.deepEqual(
    spooled,
    [...files.values()].map(({ ref }) => ref),
  )
})

test('extract: a row that is not wanted is computed with its batch, and not stored', async () => {
  const { tools, files, inputs } = toolsOf()
  await extract(batchOf(rows, [1]), tools)
  assert.equal(inputs[0]?.rows, 3)
  assert.deepEqual([...files.keys()], [[3], [8, 9]].map(hashOfIds))
})

test('extract: a file that was given up is not told as spooled', async () => {
  const { tools } = toolsOf()
  const keep: ExtractTools['keep'] = async (sample) => sample.tokens !== 3
  const { spooled, quarantined } = await extract(batchOf(rows), { ...tools, keep })
  assert.deepEqual(
    spooled.map(({ tokens }) => tokens),
    [1, 2],
  )
  assert.equal(quarantined.length, 0)
})

test('extract: computed twice, a batch gives the same bytes', async () => {
  const [first, second] = [toolsOf(), toolsOf()]
  await extract(batchOf(rows), first.tools)
  await extract(batchOf(rows), second.tools)
  assert.deepEqual([...first.files.values()], [...second.files.values()])
})

test('extract: a result that is short costs its own row, and is not stored (B13)', async () => {
  const shared = Array.from({ length: 64 }, (_, i) => i)
  const batch = batchOf([
    [...shared, 1],
    [...shared, 2],
  ])
  const whole = toolsOf()
  const { spooled } = await extract(batch, whole.tools)
  assert.deepEqual(
    spooled.map(({ tokens }) => tokens),
    [65, 65],
  )
  // 64 tokens fewer in whatever holds the second row, as a prefix taken from a cache would leave.
  const cut = (capture: Capture) => capture.subarray(0, -64 * hidden)
  const short = toolsOf((given, input) =>
    given.map((capture, layer) =>
      layer === 1 && input.ids.at(-1) === 2n ? cut(capture) : capture,
    ),
  )
  const result = await extract(batch, short.tools)
  assert.deepEqual(
    result.spooled.map(({ hash }) => hash),
    [batch.rows[0].hash],
  )
  assert.equal(short.files.size, 1)
  const [refused, ...others] = result.quarantined
  assert.equal(others.length, 0)
  assert.equal(refused.hash, batch.rows[1].hash)
  assert.match(refused.reason, /layer=layer_4, want=130, found=2/)
})

test('extract: a result that is too large is refused like a short one', async () => {
  const long = toolsOf((given) => given.map((capture) => Float32Array.of(...capture, 0)))
  const { quarantined, spooled } = await extract(batchOf([[1, 2]]), long.tools)
  assert.deepEqual([quarantined.length, spooled.length, long.files.size], [1, 0, 0])
})

test('extract: a value that is not finite costs its row alone, and is counted (B14)', async () => {
  const ten = Array.from({ length: 10 }, (_, i) => [i + 1, i + 2])
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    const { tools, files } = toolsOf((given) => {
      // Row 7's second token, in the second layer that is captured.
      given[1]?.fill(bad, (7 * 2 + 1) * hidden, (7 * 2 + 1) * hidden + 1)
      return given
    })
    const { spooled, quarantined } = await extract(batchOf(ten), tools)
    assert.equal(spooled.length, 9)
    assert.deepEqual(quarantined, [
      {
        hash: hashOfIds([8, 9]),
        tokens: 2,
        reason: 'values that are NaN or infinite (layer_4: 1)',
      },
    ])
    assert.ok(!files.has(hashOfIds([8, 9])))
  }
})

test('extract: of a row with several, each layer is counted by its name', async () => {
  const { tools } = toolsOf((given) => {
    given[0]?.fill(Number.NaN, 0, 2)
    given[2]?.fill(Number.POSITIVE_INFINITY, 0, 1)
    return given
  })
  const { quarantined } = await extract(batchOf([[1]]), tools)
  assert.match(quarantined[0]?.reason ?? '', /\(layer_1: 2, final: 1\)$/)
})

test('extract: what is not finite in padding is no fault of any row', async () => {
  const { tools } = toolsOf((given) => {
    given[0]?.fill(Number.NaN, 1 * hidden, 3 * hidden)
    return given
  })
  const { spooled, quarantined } = await extract(batchOf([[3], [5, 6, 7]]), tools)
  assert.deepEqual([spooled.length, quarantined.length], [2, 0])
})
