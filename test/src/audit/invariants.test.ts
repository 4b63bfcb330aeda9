import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  asIfUndisturbed,
  atAnyMoment,
  atTheEnd,
  type Seen,
  sinceThen,
  whileItRan,
  withoutStore,
} from '../../../src/audit/invariants.ts'
import { noWindow, windowsIn } from '../../../src/audit/windows.ts'
import type { ManifestEntry } from '../../../src/manifest/entry.ts'
import { sampleKey } from '../../../src/manifest/key.ts'

/** Each promise is broken in the one way that its function is there to find. */

const hash = (digit: string): string => digit.repeat(32)
const [a, b] = [hash('a'), hash('b')]
const keyOf = (of: string): string => sampleKey(of, 7)

const entry = (of: string, status: ManifestEntry['status'] = 'stored'): ManifestEntry => ({
  ...{ hash: of, key: null, offset: 0, tokens: 3, attempt: 0, status },
  ...(status === 'stored'
    ? { length: 100, crc32: 7, reason: null }
    : { length: 0, crc32: 0, reason: 'why' }),
})

const seen = (what: {
  readonly entries?: readonly ManifestEntry[]
  readonly objects?: readonly (readonly [string, number])[]
  readonly spooled?: readonly string[]
  readonly temps?: number
}): Seen => ({
  entries: new Map((what.entries ?? []).map((one) => [one.hash, one])),
  objects: new Map(what.objects ?? []),
  spooled: (what.spooled ?? []).map((one) => ({ hash: one, tokens: 3, bytes: 100, crc32: 7 })),
  temps: what.temps ?? 0,
})

const wanted = new Set([a, b])
const whole = seen({
  entries: [entry(a), entry(b)],
  objects: [
    [keyOf(a), 100],
    [keyOf(b), 100],
  ],
})
const once = { wanted, failed: new Set<string>(), named: new Map([a, b].map((one) => [one, 1])) }

test('invariants: a whole run breaks none, at any moment, since then or at its end', () => {
  assert.deepEqual(atAnyMoment(whole, wanted), [])
  assert.deepEqual(sinceThen(seen({ spooled: [a] }), whole), [])
  assert.deepEqual(atTheEnd(whole, once), [])
  assert.deepEqual(windowsIn(whole), noWindow)
})

test('invariants: what is named and not stored, or not whole, is told', () => {
  const gone = seen({ entries: [entry(a), entry(b)], objects: [[keyOf(b), 99]] })
  assert.deepEqual(atAnyMoment(gone, wanted), [{ invariant: 'stored', samples: [a, b] }])
  const found = atAnyMoment(whole, new Set([a]))
  assert.deepEqual(found, [{ invariant: 'rows', samples: [b] }])
})

test('invariants: a file that goes before its commit, and a line that goes again', () => {
  const found = sinceThen(seen({ spooled: [a, b] }), seen({ spooled: [b] }))
  assert.deepEqual(found, [{ invariant: 'removed', samples: [a] }])
  const without = seen({ entries: [entry(a)], objects: [[keyOf(a), 100]] })
  assert.deepEqual(sinceThen(whole, without), [{ invariant: 'kept', samples: [b] }])
  const objectGone = seen({ entries: [entry(a), entry(b)], objects: [[keyOf(a), 100]] })
  assert.deepEqual(sinceThen(whole, objectGone), [{ invariant: 'kept', samples: [b] }])
})

test('invariants: a row that ends never, twice, or both stored and failed', () => {
  const half = seen({ entries: [entry(a)], objects: [[keyOf(a), 100]] })
  assert.deepEqual(atTheEnd(half, once), [{ invariant: 'once', samples: [b] }])
  const failed = { ...once, failed: new Set([b]) }
  const spooled = seen({ entries: [entry(a)], objects: [[keyOf(a), 100]], spooled: [b] })
  assert.deepEqual(atTheEnd(spooled, failed), [])
  assert.deepEqual(atTheEnd(whole, failed), [{ invariant: 'once', samples: [b] }])
  const named = new Map([
    [a, 2],
    [b, 1],
  ])
  assert.deepEqual(atTheEnd(whole, { ...once, named }), [{ invariant: 'once', samples: [a] }])
  assert.deepEqual(atTheEnd(whole, { ...once, named: null }), [])
  const quarantined = seen({ entries: [entry(a, 'quarantined'), entry(b)] })
  assert.deepEqual(atTheEnd(quarantined, once), [])
})

test('invariants: what is left behind when all is done', () => {
  const left = { ...whole, spooled: seen({ spooled: [b] }).spooled, temps: 1 }
  const [found] = atTheEnd(left, once)
  assert.deepEqual(found, { invariant: 'cleared', samples: [b, 'an unfinished file'] })
  assert.deepEqual(windowsIn(left), { ...noWindow, beforeRename: 1, beforeRemoval: 1 })
  assert.deepEqual(windowsIn(seen({ spooled: [a], objects: [[keyOf(a), 100]] })), {
    ...noWindow,
    ...{ beforeCommit: 1, unnamed: 1 },
  })
})

test('invariants: other keys and other bytes than an undisturbed run’s', () => {
  assert.deepEqual(asIfUndisturbed({ x: '1', y: '2' }, { x: '1', y: '2' }), [])
  const found = asIfUndisturbed({ x: '1', y: '2', z: '3' }, { x: '9', z: '3', more: '4' })
  assert.deepEqual(found, [{ invariant: 'same', samples: ['more', 'x', 'y'] }])
})

test('invariants: what a run takes at once is told where it passes what it may', () => {
  const [enough, more] = [
    { found: 8, allowed: 8 },
    { found: 9, allowed: 8 },
  ]
  assert.deepEqual(whileItRan({}), [])
  assert.deepEqual(whileItRan({ requests: enough, spool: enough, free: more }), [])
  const samples = ['9, of at most 8']
  assert.deepEqual(whileItRan({ requests: more }), [{ invariant: 'requests', samples }])
  assert.deepEqual(whileItRan({ spool: more }), [{ invariant: 'room', samples }])
  const free = { found: 7, allowed: 8 }
  const eaten = [{ invariant: 'headroom', samples: ['7 of 8 bytes'] }]
  assert.deepEqual(whileItRan({ free }), eaten)
})

test('invariants: without its store a run computes all it has room for, or says it waits', () => {
  const all = 9
  assert.deepEqual(withoutStore({ batches: { computed: 9, all }, waits: null }), [])
  assert.deepEqual(withoutStore({ batches: { computed: 4, all }, waits: 'for room' }), [])
  const samples = ['4 of 9 batches, and no word of waiting']
  const found = withoutStore({ batches: { computed: 4, all }, waits: null })
  assert.deepEqual(found, [{ invariant: 'apart', samples }])
})
