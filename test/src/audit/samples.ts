/** Sample files as a run writes them, their manifest lines, and ways to spoil them. */
import { crc32 } from 'node:zlib'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { entryKey, type ManifestEntry } from '../../../src/manifest/entry.ts'
import { EntryTable } from '../../../src/manifest/table.ts'
import type { RunIdentity } from '../../../src/run/identity.ts'
import { encodeSafetensors, type TensorToWrite } from '../../../src/safetensors/write.ts'
import type { ObjectStore } from '../../../src/store/store.ts'

export const identity: RunIdentity = {
  target: '00',
  architecture: 'qwen3',
  layers: [0, 2],
  hiddenSize: 3,
  dtype: 'bf16',
  captureFinal: true,
  quantization: 'none',
  truncation: 'none',
}

export interface SampleFile {
  readonly entry: ManifestEntry
  readonly bytes: Buffer
}

/** Of 2 + n % 5 tokens, all different for different n. */
export const idsOf = (n: number): Int32Array =>
  Int32Array.from({ length: 2 + (n % 5) }, (_, at) => n * 10 + at)

const captures = 3
const one = 0x3f80

/** @param spoil  what becomes of the tensors before they are written */
export function sampleFile(
  n: number,
  spoil: (tensors: TensorToWrite[]) => readonly TensorToWrite[] = (tensors) => tensors,
): SampleFile {
  const ids = idsOf(n)
  const states = new Uint16Array(ids.length * captures * identity.hiddenSize).fill(one)
  const tensors: TensorToWrite[] = [
    {
      name: 'hidden_states',
      dtype: 'BF16',
      shape: [ids.length, captures, identity.hiddenSize],
      data: new Uint8Array(states.buffer),
    },
    {
      name: 'token_ids',
      dtype: 'I64',
      shape: [ids.length],
      data: new Uint8Array(BigInt64Array.from(ids, BigInt).buffer),
    },
  ]
  const bytes = Buffer.concat(encodeSafetensors(spoil(tensors), { layers: '0,2' }))
  return { bytes, entry: lineFor(bytes, ids) }
}

export const lineFor = (bytes: Buffer, ids: Int32Array): ManifestEntry => ({
  hash: contentHash(ids).toString('hex'),
  key: null,
  offset: 0,
  length: bytes.length,
  tokens: ids.length,
  crc32: crc32(bytes),
  status: 'stored',
  reason: null,
  attempt: 0,
})

/** The first `count` samples, put as a run does. */
export async function putSamples(store: ObjectStore, count: number): Promise<SampleFile[]> {
  const files = Array.from({ length: count }, (_, n) => sampleFile(n))
  for (const { bytes, entry } of files) {
    await store.put(entryKey(entry), bytes, { crc32: entry.crc32 })
  }
  return files
}

export function tableOf(entries: readonly ManifestEntry[]): EntryTable {
  const table = new EntryTable()
  for (const entry of entries) table.add(entry)
  return table
}
