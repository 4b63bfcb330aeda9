/** What is known of a checkpoint's tensors before their bytes are read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireTensors } from '../../../src/checkpoint/accept.ts'
import { readHeaders } from '../../../src/checkpoint/headers.ts'
import { fileKey } from '../../../src/checkpoint/names.ts'
import { wholeNamed } from '../../../src/checkpoint/restore.ts'
import { saveCheckpoint } from '../../../src/checkpoint/save.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { now, shapes, trainedAt, writerId } from './trained.ts'

async function laidOut() {
  const store = new MemoryStore()
  const { name } = await saveCheckpoint(store, trainedAt(10), { writer: writerId(0), now })
  return { store, checkpoint: await wholeNamed(store, name) }
}

test('headers: tensors that are missing or left over are named', async () => {
  const { store, checkpoint } = await laidOut()
  const headers = await readHeaders(store, checkpoint)
  requireTensors(headers, shapes)
  const wanted = [...shapes.slice(1), { name: 'new.weight', shape: [2] }]
  for (const message of [
    /model\.safetensors lacks new\.weight/,
    /optimizer\.safetensors has m\.fc\.weight, which is no parameter/,
  ]) {
    assert.throws(() => requireTensors(headers, wanted), { kind: 'invalid', message })
  }
})

test('headers: a file that is gone, or is none, is corrupt', async () => {
  const { store, checkpoint } = await laidOut()
  const key = fileKey(checkpoint.name, 'model')
  await store.put(key, Buffer.alloc(checkpoint.state.files.model.bytes, 0xff))
  await assert.rejects(readHeaders(store, checkpoint), { kind: 'corrupt' })
  await store.remove(key)
  await assert.rejects(readHeaders(store, checkpoint), { kind: 'corrupt', message: /found=none/ })
})
