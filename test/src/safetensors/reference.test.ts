/** Every file of the reference set is taken or refused as by the official package. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { explain, isFailure } from '../../../src/failure.ts'
import { parseHeader } from '../../../src/safetensors/header.ts'
import { openSafetensors, readSafetensors } from '../../../src/safetensors/read.ts'
import { bfloat16ToFloat32 } from '../../../src/tensor/bfloat16.ts'
import type { DType } from '../../../src/tensor/dtype.ts'
import { float16ToFloat32 } from '../../../src/tensor/float16.ts'
import { elements, type Tensor } from '../../../src/tensor/tensor.ts'
import { golden } from '../../support/golden.ts'
import { needsShared } from '../../support/needs.ts'

interface Accepted {
  readonly accept: true
  readonly metadata: Readonly<Record<string, string>> | null
  readonly dataStart: number
  readonly order: readonly string[]
  readonly tensors: Readonly<
    Record<
      string,
      {
        readonly dtype: DType
        readonly shape: readonly number[]
        readonly offsets: readonly number[]
        readonly sha256: string
        readonly values?: readonly unknown[]
      }
    >
  >
}

interface Rejected {
  readonly accept: false
  readonly rustError: keyof typeof reasons
}

type Expected = Readonly<Record<string, Accepted | Rejected>>

/** What our message must say for each of the official package's errors. */
const reasons = {
  HeaderTooSmall: /too short for a safetensors header/,
  HeaderTooLarge: /header is too large/,
  InvalidHeaderLength: /ends within its safetensors header/,
  InvalidHeader: /no JSON in UTF-8/,
  InvalidHeaderDeserialization: /no JSON|malformed field|lacks a field|has a field twice/,
  MetadataIncompleteBuffer: /ends before its tensors do|goes on after its last tensor/,
  InvalidOffset: /ends before it starts|overlaps the one before|are of no tensor/,
  TensorInvalidInfo: /bytes differ from its type and shape/,
  ValidationOverflow: /overflows 64 bits/,
  MisalignedSlice: /does not fill whole bytes/,
}

const readJson = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8'))

/** As expected.json has them: booleans, and strings for what a double or JSON cannot hold. */
function values(tensor: Tensor): unknown[] | undefined {
  switch (tensor.dtype) {
    case 'BOOL':
      return Array.from(elements(tensor, 'BOOL'), (byte) => byte !== 0)
    case 'U8':
    case 'I8':
    case 'U16':
    case 'I16':
    case 'U32':
    case 'I32':
    case 'F32':
    case 'F64':
      return Array.from(elements(tensor, tensor.dtype), asJson)
    case 'U64':
    case 'I64':
      return Array.from(elements(tensor, tensor.dtype), asJson)
    case 'BF16':
      return Array.from(bfloat16ToFloat32(elements(tensor, 'BF16')), asJson)
    case 'F16':
      return Array.from(float16ToFloat32(elements(tensor, 'F16')), asJson)
    default:
      return undefined
  }
}

function asJson(value: number | bigint): unknown {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) return Number(value)
  return String(value).toLowerCase().replace('infinity', 'inf')
}

function checkAccepted(path: string, name: string, expected: Accepted): void {
  const bytes = readFileSync(path)
  const header = parseHeader(bytes, { name, bytes: bytes.length })
  const { metadata, tensors } = readSafetensors(bytes, name)
  assert.deepEqual(Object.fromEntries(metadata), expected.metadata ?? {}, name)
  assert.deepEqual([...tensors.keys()], expected.order, name)
  assert.equal(header.dataStart, expected.dataStart, name)
  for (const [key, want] of Object.entries(expected.tensors)) {
    const tensor = tensors.get(key)
    const place = header.tensors.get(key)
    assert.ok(tensor && place, `${name}: ${key}`)
    assert.equal(tensor.dtype, want.dtype, name)
    assert.deepEqual(tensor.shape, want.shape, name)
    const offsets = [place.start - header.dataStart, place.end - header.dataStart]
    assert.deepEqual(offsets, want.offsets, name)
    assert.equal(createHash('sha256').update(tensor.data).digest('hex'), want.sha256, name)
    if (want.values) assert.deepEqual(values(tensor), want.values, `${name}: ${key}`)
  }
}

const refusal =
  (name: string, { rustError }: Rejected) =>
  (error: unknown) => {
    assert.ok(isFailure(error, 'corrupt'), `${name}: ${explain(error)}`)
    assert.match(explain(error), reasons[rustError], name)
    assert.ok(error.message.includes(`file=${name}`), error.message)
    return true
  }

/** Checks all the files, read whole and opened. Returns how many were to be taken and refused. */
async function checkAll(
  dir: string,
  all: Expected,
): Promise<{ accepted: number; rejected: number }> {
  const count = { accepted: 0, rejected: 0 }
  for (const [name, expected] of Object.entries(all)) {
    const path = join(dir, name)
    if (expected.accept) {
      count.accepted++
      checkAccepted(path, name, expected)
      const file = await openSafetensors(path)
      assert.deepEqual([...file.tensors.keys()], expected.order, name)
    } else {
      count.rejected++
      assert.throws(() => readSafetensors(readFileSync(path), name), refusal(name, expected))
      await assert.rejects(openSafetensors(path), refusal(path, expected))
    }
  }
  return count
}

test('safetensors: files are taken and refused as officially, for the same reasons', async () => {
  const expected = readJson<Expected>(golden('safetensors', 'expected.json'))
  const count = await checkAll(golden('safetensors'), expected)
  assert.deepEqual(count, { accepted: 61, rejected: 83 })
})

test('safetensors: of the whole reference set not one verdict differs', (t) => {
  const dir = needsShared(t, 'reference/safetensors')
  if (dir === undefined) return
  const { files } = readJson<{ files: Record<string, { accept: boolean }> }>(
    join(dir, 'expected.json'),
  )
  const taken = (name: string): boolean => {
    try {
      readSafetensors(readFileSync(join(dir, name)), name)
      return true
    } catch (error) {
      assert.ok(isFailure(error, 'corrupt'), `${name}: ${explain(error)}`)
      return false
    }
  }
  const differing = Object.keys(files).filter((name) => taken(name) !== files[name].accept)
  assert.deepEqual(differing, [])
  assert.equal(Object.keys(files).length, 145)
})
