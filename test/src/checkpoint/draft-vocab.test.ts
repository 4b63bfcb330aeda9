import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftVocabIn } from '../../../src/checkpoint/draft-vocab.ts'
import { checkpointName, fileKey } from '../../../src/checkpoint/names.ts'
import { wholeNamed } from '../../../src/checkpoint/restore.ts'
import { saveCheckpoint } from '../../../src/checkpoint/save.ts'
import { DraftVocab } from '../../../src/models/draft-vocab.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { now, trainedAt, writerId } from './trained.ts'

const name = checkpointName({ step: 10, writer: writerId(0) })

test('draft vocabulary of a checkpoint: the one that it was trained with', async () => {
  const store = new MemoryStore()
  const vocab = new DraftVocab([0, 2, 5], 8)
  await saveCheckpoint(
    store,
    { ...trainedAt(10), maps: vocab.maps() },
    { writer: writerId(0), now },
  )
  const found = await draftVocabIn(store, await wholeNamed(store, name))
  assert.deepEqual([found.ids, found.vocabSize], [vocab.ids, vocab.vocabSize])
})

test('draft vocabulary of a checkpoint: one without, a file cut short, none', async () => {
  const store = new MemoryStore()
  await saveCheckpoint(store, trainedAt(10), { writer: writerId(0), now })
  const checkpoint = await wholeNamed(store, name)
  const corrupt = (message: RegExp) =>
    assert.rejects(draftVocabIn(store, checkpoint), { kind: 'corrupt', message, remedy: /another/ })
  await corrupt(/lacks its draft vocabulary/)
  await store.put(fileKey(name, 'model'), Buffer.alloc(3))
  await corrupt(/is not what was saved.*found=3/)
  await store.remove(fileKey(name, 'model'))
  await corrupt(/is not what was saved.*found=none/)
})
