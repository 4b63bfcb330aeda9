import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { seededRandom } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { Keeper, type KeeperParts } from '../../../src/spool/keep.ts'
import { openSpool, type Spool } from '../../../src/spool/spool.ts'
import { needs } from '../../support/needs.ts'
import { randomHash } from '../manifest/entries.ts'
import { HastyClock } from '../store/hasty-clock.ts'
import { folder } from './folder.ts'

const random = seededRandom(2)

function sample(bytes: number) {
  const parts = [Buffer.alloc(bytes, bytes)]
  return { hash: randomHash(random), tokens: 1, bytes, crc32: crc32(parts[0]), parts }
}

async function rig(t: TestContext, parts: Partial<KeeperParts> = {}) {
  const spool = await openSpool(folder(t))
  const clock = new HastyClock()
  const waits: (string | null)[] = []
  const onWait = (why: string | null) => void waits.push(why)
  const keeper = new Keeper({ spool, clock, keepFree: 0, onWait, ...parts })
  return { spool, clock, waits, keeper }
}

test('keep: before each file the disk is looked at; what others wrote makes it wait', async (t) => {
  const looks = [1000, 149, 149, 150]
  const { keeper, waits, clock, spool } = await rig(t, {
    keepFree: 100,
    free: async () => looks.shift() ?? assert.fail('looked too often'),
  })
  assert.equal(await keeper.keep(sample(50)), true)
  assert.deepEqual(waits, [])
  assert.equal(await keeper.keep(sample(50)), true)
  assert.equal(waits.length, 2)
  assert.match(waits[0] ?? '', /too little room. keepFree=100 bytes, free=149/)
  assert.equal(waits[1], null)
  assert.deepEqual(clock.waitsMs, [1000, 1000])
  assert.equal((await readdir(spool.dir)).length, 2)
})

test('keep: files under way count together, ahead of what the disk tells', async (t) => {
  let free = 250
  let most = 0
  const { keeper, waits } = await rig(t, {
    keepFree: 100,
    free: async () => free,
    spool: {
      dir: '',
      add: async (one) => {
        most += one.bytes
        await new Promise(setImmediate)
        free -= one.bytes
        assert.ok(free >= 100)
        return one
      },
    },
  })
  const kept = [100, 100].map((bytes) => keeper.keep(sample(bytes)))
  assert.equal(await kept[0], true)
  assert.equal(most, 100)
  free = 500
  assert.equal(await kept[1], true)
  assert.equal(waits.length, 2, 'one wait, and its end')
})

test('keep: a disk that fills up costs the file under way, which is written again', async (t) => {
  let left = 2
  const real = await openSpool(folder(t))
  const add: Spool['add'] = async (one) => {
    if (left-- > 0) throw new Failure('unavailable', 'sample not written. code=ENOSPC')
    return await real.add(one)
  }
  const { keeper, waits } = await rig(t, { spool: { dir: real.dir, add } })
  assert.equal(await keeper.keep(sample(10)), true)
  assert.match(waits[0] ?? '', /ENOSPC/)
  assert.equal((await readdir(real.dir)).length, 1)
})

test('keep: told to wait no more, what has room is written and the rest given up', async (t) => {
  const stop = new AbortController()
  const { keeper, spool, waits } = await rig(t, {
    keepFree: 100,
    free: async () => 150,
    signal: stop.signal,
    clock: { now: () => 0, setTimeout: () => 0, clearTimeout: () => undefined },
  })
  const waiting = keeper.keep(sample(51))
  while (waits.length === 0) await new Promise(setImmediate)
  stop.abort()
  assert.equal(await waiting, false)
  assert.equal(await keeper.keep(sample(50)), true)
  assert.equal((await readdir(spool.dir)).length, 1)
})

test('keep: a folder that cannot be written is no reason to wait', async (t) => {
  const add = async () => {
    throw new Failure('invalid', 'sample not written. code=EROFS')
  }
  const { keeper } = await rig(t, { spool: { dir: folder(t), add } })
  await assert.rejects(keeper.keep(sample(10)), { kind: 'invalid' })
})

/** On a disk of 1 MiB: a file of 600 KiB meets another program's of 700 KiB, until that goes. */
const program = `
  const [keep, spoolAt, clockAt, dir] = process.argv.slice(1)
  const { Keeper } = await import(keep)
  const { openSpool, freeBytes } = await import(spoolAt)
  const { systemClock } = await import(clockAt)
  const { readdirSync, rmSync, statSync, writeFileSync } = await import('node:fs')
  const spool = await openSpool(dir + '/spool')
  writeFileSync(dir + '/other', new Uint8Array(700 << 10))
  const seen = []
  const keeper = new Keeper({
    spool, keepFree: 0, clock: systemClock,
    free: async () => 1 << 30,
    onWait: (why) => {
      seen.push(why && /ENOSPC/.test(why), readdirSync(spool.dir).length)
      rmSync(dir + '/other', { force: true })
    },
  })
  const parts = [new Uint8Array(600 << 10)]
  const sample = { hash: 'ab'.repeat(16), tokens: 1, bytes: 600 << 10, crc32: 0, parts }
  const kept = await keeper.keep(sample)
  const sizes = readdirSync(spool.dir).map((name) => statSync(spool.dir + '/' + name).size)
  console.log(JSON.stringify([kept, seen, sizes]))`

test('keep: on a small disk that is full in truth, no short file is ever there (B30)', (t) => {
  const unshare = needs(t, 'unshare')
  if (!unshare) return
  const modules = [
    '../../../src/spool/keep.js',
    '../../../src/spool/spool.js',
    '../../../src/clock.js',
  ]
  const run = spawnSync(unshare, [
    ...[
      '-rm',
      'sh',
      '-c',
      'mount -t tmpfs -o size=1m tmpfs "$5" && exec "$0" -e "$1" "$2" "$3" "$4" "$5"',
    ],
    ...[process.execPath, program],
    ...modules.map((module) => new URL(module, import.meta.url).href),
    folder(t),
  ])
  if (run.status !== 0)
    return t.skip(`no small disk can be mounted here: ${run.stderr ?? run.error}`)
  assert.deepEqual(JSON.parse(String(run.stdout)), [true, [true, 0, null, 1], [600 << 10]])
})

test('keep: what the disk keeps free may be changed, and those that wait heed it', async (t) => {
  const { keeper, waits } = await rig(t, { keepFree: 100, free: async () => 120 })
  const kept = keeper.keep(sample(50))
  keeper.keepFree(70)
  assert.equal(await kept, true)
  assert.match(waits[0] ?? '', /keepFree=100 bytes/)
})
