import assert from 'node:assert/strict'
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { captureNames } from '../../../src/models/hidden-states.ts'
import type { RunIdentity } from '../../../src/run/identity.ts'
import { encodeSample, sampleMetadata } from '../../../src/sample/encode.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import { requireOwnSpool } from '../../../supervisors/run/own-spool.ts'
import { scratch } from '../../support/target-run.ts'

const identity: RunIdentity = {
  target: 'a'.repeat(64),
  architecture: 'qwen3',
  layers: [1, 4],
  hiddenSize: 3,
  dtype: 'bf16',
  captureFinal: false,
  quantization: 'none',
  truncation: 'none',
}

/** A sample of this run, as its extractor spools it. */
function sampleOf(ids: readonly number[], hashed = ids) {
  const captures = captureNames(identity)
  const { dtype, hiddenSize: hidden, target } = identity
  const content = {
    hash: contentHash(Int32Array.from(hashed)).toString('hex'),
    ids: Int32Array.from(ids),
    states: new Uint8Array(ids.length * captures.length * hidden * 2),
  }
  const metadata = sampleMetadata(target, captures)
  return encodeSample(content, { captures, dtype, hidden, metadata })
}

async function spoolIn(t: TestContext) {
  const work = await scratch(t)
  return { work, spool: await openSpool(join(work, 'spool')) }
}

test('own spool: what this run left waits there, torn or whole', async (t) => {
  const { work, spool } = await spoolIn(t)
  assert.equal(await requireOwnSpool(work, identity), 0)
  for (const ids of [[1], [2, 3], [4, 5, 6]]) await spool.add(sampleOf(ids))
  const torn = await spool.add(sampleOf([7, 8]))
  await truncate(spool.path(torn), 20)
  assert.equal(await requireOwnSpool(work, identity), 4)
})

test('own spool: what another target, layers or type made goes to no other store', async (t) => {
  const { work, spool } = await spoolIn(t)
  await spool.add(sampleOf([1, 2]))
  const others: Partial<RunIdentity>[] = [
    { target: 'b'.repeat(64) },
    { layers: [1, 2] },
    { layers: [1, 2, 4] },
    { dtype: 'f16' },
    { hiddenSize: 6 },
    { captureFinal: true, layers: [1] },
  ]
  for (const other of others) {
    await assert.rejects(
      requireOwnSpool(work, { ...identity, ...other }),
      { kind: 'invalid', message: /not of this run/, remedy: /another work folder/ },
      JSON.stringify(other),
    )
  }
})

test('own spool: a whole file that is not what its name says is refused', async (t) => {
  const { work, spool } = await spoolIn(t)
  const elsewhere = await spool.add(sampleOf([1, 2], [3, 4]))
  await assert.rejects(requireOwnSpool(work, identity), { message: /hash of its token ids/ })
  await spool.remove(elsewhere)
  await spool.add({ ...sampleOf([1, 2]), tokens: 3 })
  await assert.rejects(requireOwnSpool(work, identity), { message: /tokens: want=3, found=2/ })
})

test('own spool: no sample at all under a sample’s name is refused', async (t) => {
  const { work, spool } = await spoolIn(t)
  const bytes = Buffer.from('a note')
  const { hash } = sampleOf([1])
  await spool.add({ hash, tokens: 1, bytes: bytes.length, crc32: crc32(bytes), parts: [bytes] })
  await assert.rejects(requireOwnSpool(work, identity), { message: /it cannot be read/ })
})
