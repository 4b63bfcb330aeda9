import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../../src/failure.ts'
import { LateHeadPut } from '../../../src/store/late-head-put.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { MultipartUpload } from '../../../src/store/store.ts'

const partBytes = 1000
const headBytes = 30
const key = 'manifest/snapshots/late'

/** Tells what parts it was given; loses the answer of `complete` where asked to. */
class PartStore extends MemoryStore {
  readonly parts: [number, number][] = []
  loseComplete = false

  override async startMultipart(name: string): Promise<MultipartUpload> {
    const upload = await super.startMultipart(name)
    return {
      ...upload,
      putPart: async (number, body, options) => {
        this.parts.push([number, body.length])
        return await upload.putPart(number, body, options)
      },
      complete: async (refs) => {
        const done = await upload.complete(refs)
        if (this.loseComplete) throw new Failure('invalid', 'no such upload')
        return done
      },
    }
  }
}

const bytesOf = (length: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, i) => (i * 31) & 255))

async function putOf(store: MemoryStore, bodyBytes: number, pieceBytes = 70): Promise<void> {
  const put = new LateHeadPut(store, key, { headBytes, partBytes })
  const body = bytesOf(bodyBytes)
  for (let at = 0; at < body.length; at += pieceBytes) {
    await put.add(body.subarray(at, at + pieceBytes))
  }
  assert.equal(await store.head(key), undefined, 'to be seen before its end')
  await put.finish(Buffer.alloc(headBytes, 'h'))
}

for (const [bodyBytes, parts] of [
  [0, []],
  [970, []],
  [971, [1, 1000, 2, 1]],
  [1970, [1, 1000, 2, 1000]],
  [4321, [1, 1000, 2, 1000, 3, 1000, 4, 1000, 5, 351]],
] as const) {
  test(`late head: ${bodyBytes} bytes and a head come out whole, in equal parts`, async () => {
    for (const pieceBytes of [70, 5000]) {
      const store = new PartStore()
      await putOf(store, bodyBytes, pieceBytes)
      const want = Buffer.concat([Buffer.alloc(headBytes, 'h'), bytesOf(bodyBytes)])
      assert.deepEqual(await store.get(key), want)
      const inOrder = [...store.parts].sort((a, b) => a[0] - b[0])
      assert.deepEqual(inOrder.flat(), parts)
      assert.deepEqual(await store.openMultiparts(''), [])
    }
  })
}

test('late head: an answer lost after the last part is no failure', async () => {
  const store = new PartStore()
  store.loseComplete = true
  await putOf(store, 2500)
  assert.equal((await store.head(key))?.size, headBytes + 2500)
})

test('late head: given up, it leaves nothing half sent', async () => {
  const store = new PartStore()
  const stop = new AbortController()
  const put = new LateHeadPut(store, key, { headBytes, partBytes, signal: stop.signal })
  await put.add(bytesOf(2500))
  assert.equal((await store.openMultiparts('')).length, 1)
  stop.abort()
  await put.add(bytesOf(1000))
  await assert.rejects(put.finish(Buffer.alloc(headBytes)), { name: 'AbortError' })
  await put.abort()
  assert.deepEqual(await store.openMultiparts(''), [])
  assert.equal(await store.head(key), undefined)
})

test('late head: a head of another length is refused', async () => {
  const put = new LateHeadPut(new MemoryStore(), key, { headBytes, partBytes })
  await assert.rejects(put.finish(Buffer.alloc(headBytes + 1)), RangeError)
  assert.throws(() => new LateHeadPut(new MemoryStore(), key, { headBytes: 9, partBytes: 8 }))
})
