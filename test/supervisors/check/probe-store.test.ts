import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { parseConfig } from '../../../src/config/load.ts'
import type { Fault } from '../../../src/dev-s3/faults.ts'
import { type Finding, lookingInto } from '../../../supervisors/check/findings.ts'
import { clocksSeen, probeStore } from '../../../supervisors/check/probe-store.ts'
import { embedded, env, s3At } from '../../src/store/opening.ts'
import { scratch } from '../../support/target-run.ts'

/** What `check` says of stores that are as they should be, and of those that are not. */

// The AWS chain looks here first.
const before = { ...process.env }
Object.assign(process.env, env)
after(() => {
  process.env = before
})

async function probed(store: string, s3: object = {}): Promise<readonly Finding[]> {
  const place = { store, s3, work: './work', dataset: { path: 'd' }, target: { path: 't' } }
  const { config } = parseConfig(JSON.stringify(place), { name: 'test', base: '/' })
  const findings: Finding[] = []
  await probeStore(config, undefined, lookingInto(findings))
  return findings
}

/** Each fault is there for all requests that it matches. */
async function probedWith(faults: readonly (object & Partial<Fault>)[], s3: object = {}) {
  const server = await embedded()
  const times = Number.POSITIVE_INFINITY
  server.faults.push(...faults.map((fault) => ({ ...fault, times }) as Fault))
  const findings = await probed('s3://bucket/run', { endpoint: server.endpoint, ...s3 })
  server.faults.length = 0
  return { findings, store: s3At(server.endpoint) }
}

const denied = (operation: string) => ({
  match: { operation },
  kind: 'error' as const,
  status: 403,
  code: 'AccessDenied',
})

const found = (findings: readonly Finding[], what: string): string =>
  findings.find((finding) => finding.what === what)?.found ?? ''

const notOk = (findings: readonly Finding[]) => findings.filter(({ state }) => state !== 'ok')

async function leftIn(store: ReturnType<typeof s3At>): Promise<readonly string[]> {
  const keys = (await store.openMultiparts('')).map(({ key }) => `upload ${key}`)
  for await (const { key } of store.list('')) keys.push(key)
  return keys
}

test('probe: a store that is as it should be, and nothing is left there', async () => {
  const { findings, store } = await probedWith([])
  assert.deepEqual(notOk(findings), [])
  assert.equal(findings.length, 10)
  assert.match(found(findings, 'store'), /^s3:\/\/bucket\/run at http:\S+ takes objects$/)
  assert.match(
    found(findings, 'store: checksums'),
    /^answers a put with its CRC-32, tells it of what.*, refuses/,
  )
  assert.match(found(findings, 'store: confirmation'), /by the CRC-32 that the store answers with/)
  assert.match(found(findings, 'store: large files'), /any size, with the CRC-32 of the whole/)
  assert.match(found(findings, 'store: contents'), /no run yet/)
  assert.deepEqual(await leftIn(store), [])
})

test('probe: a folder, new or not, is as it was before', async (t: TestContext) => {
  const dir = await scratch(t)
  const fresh = pathToFileURL(join(dir, 'not', 'there', 'yet')).href
  assert.deepEqual(notOk(await probed(fresh)), [])
  assert.deepEqual(await readdir(dir), [])
  const own = join(dir, 'own')
  mkdirSync(join(own, 'kept'), { recursive: true })
  assert.deepEqual(notOk(await probed(pathToFileURL(own).href)), [])
  assert.deepEqual(await readdir(own), ['kept'])
})

test('probe: a right that is missing is one line, with what to allow', async () => {
  for (const [operation, what] of [
    ['ListObjectsV2', 'store: listing'],
    ['GetObject', 'store: reading'],
    ['DeleteObject', 'store: removal'],
  ] as const) {
    const { findings } = await probedWith([{ ...denied(operation), match: { operation, key: '' } }])
    const wrong = notOk(findings).filter((finding) => finding.what === what)
    assert.equal(wrong.length, 1, operation)
    assert.match(wrong[0]?.found ?? '', /these credentials may not do this.*code=AccessDenied/)
    assert.match(wrong[0]?.remedy ?? '', /Allow these credentials to get, put, list and delete/)
  }
})

test('probe: uploads that may not be listed are worth a note', async () => {
  const { findings, store } = await probedWith([denied('ListMultipartUploads')])
  const [note, ...others] = notOk(findings)
  assert.deepEqual(others, [])
  assert.deepEqual([note?.what, note?.state], ['store: large files', 'note'])
  assert.match(note?.remedy ?? '', /s3:ListBucketMultipartUploads/)
  assert.deepEqual(await leftIn(store), [])
})

test('probe: what a store does not have is named, and what a run makes of it', async () => {
  const conditions = await probedWith([
    { match: { operation: 'PutObject' }, kind: 'ignore-conditions' },
  ])
  assert.match(found(conditions.findings, 'store: conditions'), /conditional puts are ignored/)
  assert.match(notOk(conditions.findings)[0]?.remedy ?? '', /warned of, not refused/)

  const complete = { operation: 'CompleteMultipartUpload' }
  const equal = await probedWith([{ match: complete, kind: 'equal-parts' }])
  assert.deepEqual(notOk(equal.findings), [])
  assert.match(found(equal.findings, 'store: large files'), /of equal size, which a run sends/)

  const none = await probedWith([denied('CreateMultipartUpload')])
  assert.deepEqual(
    notOk(none.findings).map(({ what, state }) => [what, state]),
    [['store: large files', 'wrong']],
  )
})

test('probe: a store without checksum headers wants a setting, and works with it', async () => {
  const refused = await probedWith([{ kind: 'refuse-checksums' }])
  assert.deepEqual(
    refused.findings.map(({ what, state }) => [what, state]),
    [['store', 'wrong']],
  )
  assert.match(refused.findings[0]?.remedy ?? '', /s3.checksums: when-required/)
  const set = { checksums: 'when-required' }
  const { findings } = await probedWith([{ kind: 'refuse-checksums' }], set)
  assert.deepEqual(notOk(findings), [])
  assert.match(found(findings, 'store: checksums'), /Content-MD5 guards each object/)
  assert.match(found(findings, 'store: confirmation'), /by ETags/)
})

test('probe: a wrong bucket, or TLS where none is spoken, is one line', async () => {
  const { endpoint } = await embedded()
  const [bucket, ...others] = await probed('s3://other/run', { endpoint })
  assert.deepEqual(others, [])
  assert.match(bucket?.found ?? '', /bucket does not exist/)
  const [tls, ...more] = await probed('s3://bucket/run', {
    endpoint: endpoint.replace('http:', 'https:'),
  })
  assert.deepEqual(more, [])
  assert.match(tls?.found ?? '', /does not speak TLS/)
})

test('probe: clocks that differ are told, those far apart with what it means', () => {
  const now = 1_800_000_000_000
  const seen = (aheadMs: number) => clocksSeen({ from: now, to: now + 500, at: now - aheadMs })
  assert.match(seen(400)[0], /agree/)
  assert.match(seen(-400)[0], /agree/)
  assert.deepEqual(seen(61_000), ['this machine’s clock is 60 s ahead of the store’s', null])
  assert.deepEqual(seen(-60_500), ['this machine’s clock is 60 s behind the store’s', null])
  const [far, , note] = seen(3_601_000)
  assert.equal(far, 'this machine’s clock is 60 min ahead of the store’s')
  assert.match(note ?? '', /signed anew by the store’s time/)
})
