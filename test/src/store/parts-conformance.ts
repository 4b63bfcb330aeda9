/** What every store promises of uploads in parts; a chapter of the conformance suite. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { isFailure } from '../../../src/failure.ts'
import type { MultipartUpload } from '../../../src/store/store.ts'
import type { Claim } from './conformance.ts'
import { filler, keysOf } from './contents.ts'

const MIB = 1 << 20
const text = (value: string): Buffer => Buffer.from(value)
const sha = (bytes: Buffer = text('')) => createHash('sha256').update(bytes).digest('hex')

const putAll = (upload: MultipartUpload, parts: readonly Buffer[]) =>
  Promise.all(parts.map((part, i) => upload.putPart(i + 1, part, { crc32: crc32(part) })))

export function partsConformance(claim: Claim): void {
  claim('parts become one object when they are completed, and nothing before', async (store) => {
    const parts = [filler(5 * MIB), filler(5 * MIB).reverse(), filler(1000)]
    const upload = await store.startMultipart('big/one')
    const refs = await putAll(upload, parts)
    assert.deepEqual(
      refs.map((ref) => ref.size),
      [5 * MIB, 5 * MIB, 1000],
    )
    assert.equal(await store.head('big/one'), undefined)
    assert.deepEqual(await keysOf(store.list('')), [])
    const whole = Buffer.concat(parts)
    const said = await upload.complete(refs, { crc32: crc32(whole) })
    if (said.crc32 !== undefined) assert.equal(said.crc32, crc32(whole))
    const head = await store.head('big/one')
    assert.equal(head?.size, whole.length)
    if (head.crc32 !== undefined) assert.equal(head.crc32, crc32(whole))
    assert.equal(sha(await store.get('big/one')), sha(whole))
    assert.deepEqual(await store.openMultiparts('big/one'), [])
  })

  claim('a part that is damaged on its way is refused', async (store) => {
    const upload = await store.startMultipart('big/one')
    const damaged = upload.putPart(1, text('whole'), { crc32: crc32('torn') })
    const outcome = await damaged.then(
      () => 'taken',
      (error) => isFailure(error),
    )
    // Where Content-MD5 guards it, a checksum that is not the body's goes nowhere.
    if (outcome === 'taken') assert.equal((await upload.listParts())[0]?.size, 5)
    else assert.deepEqual(await upload.listParts(), [])
    await upload.abort()
  })

  claim('found by another process, an upload lists its parts and goes on', async (store) => {
    const parts = [filler(5 * MIB), filler(5 * MIB).reverse(), filler(77)]
    const [first, second, third] = parts
    assert.ok(first && second && third)
    const begun = await store.startMultipart('big/two')
    assert.deepEqual(await begun.listParts(), [])
    await begun.putPart(3, third)
    await begun.putPart(1, second)
    const refs = [await begun.putPart(1, first)]

    const [found, ...others] = await store.openMultiparts('big/two')
    assert.ok(found)
    assert.deepEqual(others, [])
    assert.equal(found.id, begun.id)
    assert.ok(Math.abs((found.startedAt ?? Date.now()) - Date.now()) < 600_000)
    const listed = await found.listParts()
    assert.deepEqual(
      listed.map(({ number, size }) => [number, size]),
      [
        [1, 5 * MIB],
        [3, 77],
      ],
    )
    assert.equal(listed[0]?.etag, refs[0]?.etag)
    for (const [i, part] of [first, third].entries()) {
      const crc = listed[i]?.crc32
      if (crc !== undefined) assert.equal(crc, crc32(part))
    }
    const added = await found.putPart(2, second)
    const [one, three] = listed
    assert.ok(one && three)
    await found.complete([one, added, three], { crc32: crc32(Buffer.concat(parts)) })
    assert.equal(sha(await store.get('big/two')), sha(Buffer.concat(parts)))
    await assert.rejects(begun.listParts(), (e) => isFailure(e, 'invalid'))
  })

  claim('parts that are not what was sent become no object', async (store) => {
    const upload = await store.startMultipart('big/three')
    const parts = [filler(5 * MIB), text('the end')]
    const refs = await putAll(upload, parts)
    const said = await upload.complete(refs, { crc32: 1 }).catch((error: unknown) => error)
    // A store that compares no CRC-32 completes it, and answers with none that could confirm it.
    if (isFailure(said, 'corrupt')) assert.equal(await store.head('big/three'), undefined)
    else assert.deepEqual(Object.keys(Object(said)), ['etag'])
    await upload.abort()
  })

  claim('a part that was never put completes nothing', async (store) => {
    const upload = await store.startMultipart('big/four')
    const [one] = await putAll(upload, [text('one')])
    assert.ok(one)
    const missing = { ...one, number: 2 }
    await assert.rejects(upload.complete([one, missing]), (e) => isFailure(e, 'invalid'))
    assert.equal(await store.head('big/four'), undefined)
    await upload.abort()
  })

  claim('an upload that nobody completed is found and aborted', async (store) => {
    const left = await store.startMultipart('big/left')
    await left.putPart(1, text('one'))
    const other = await store.startMultipart('big/other')
    const open = await store.openMultiparts('big/left')
    assert.deepEqual(
      open.map(({ key, id }) => [key, id]),
      [['big/left', left.id]],
    )
    for (const upload of open) await upload.abort()
    assert.deepEqual(await store.openMultiparts('big/left'), [])
    await left.abort()
    await assert.rejects(left.putPart(2, text('two')), (e) => isFailure(e, 'invalid'))
    await other.abort()
    assert.deepEqual(await keysOf(store.list('')), [])
  })
}
