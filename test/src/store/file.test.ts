import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { seededRandom } from '../../../src/clock.ts'
import { explain, Failure, isFailure } from '../../../src/failure.ts'
import { FileStore } from '../../../src/store/file.ts'
import { fileFailure } from '../../../src/store/file-errors.ts'
import { exclusively } from '../../../src/store/file-lock.ts'
import { SIDE_FOLDER } from '../../../src/store/keys.ts'
import { keysOf } from './contents.ts'
import { tempFolder } from './opening.ts'

const text = (value: string): Buffer => Buffer.from(value)
const script = fileURLToPath(new URL('./file-process.js', import.meta.url))
const child = (...args: string[]): ChildProcess =>
  spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })

test('file: into a folder that is not there yet, 128 objects of 128 are stored', async () => {
  const store = new FileStore(join(tempFolder(), 'staging', 'prefix', 'deep'))
  const keys = Array.from({ length: 128 }, (_, i) => `hidden-states/${i % 16}/${i}`)
  await Promise.all(keys.map((key) => store.put(key, text(key))))
  assert.deepEqual(new Set(await keysOf(store.list(''))), new Set(keys))
})

test('file: a file in the place of its folder is named, and nothing is stored', async () => {
  const root = join(tempFolder(), 'taken')
  writeFileSync(root, 'mine')
  for (const store of [new FileStore(root), new FileStore(join(root, 'below'))]) {
    for (const put of ['put', 'putIfAbsent'] as const) {
      await assert.rejects(store[put]('a/b', text('x')), (error) => {
        assert.ok(isFailure(error, 'invalid'))
        assert.match(error.message, /a file is in the place of a folder.*taken/)
        assert.match(error.remedy ?? '', /Move that file away/)
        return true
      })
    }
    assert.equal(await store.get('a/b'), undefined)
  }
  await assert.rejects(keysOf(new FileStore(root).list('')), (e) => isFailure(e, 'invalid'))
})

test('file: a key below another key is refused, and the other stays', async () => {
  const store = new FileStore(tempFolder())
  await store.put('a', text('file'))
  await assert.rejects(store.put('a/b', text('x')), (e) => isFailure(e, 'invalid'))
  await assert.rejects(store.putIfAbsent('a/b', text('x')), (e) => isFailure(e, 'invalid'))
  await store.put('c/d', text('file'))
  await assert.rejects(store.put('c', text('x')), (e) => isFailure(e, 'invalid'))
  assert.deepEqual(await keysOf(store.list('')), ['a', 'c/d'])
})

test('file: folders that a removed object leaves empty go, others and the root stay', async () => {
  const root = join(tempFolder(), 'store')
  const store = new FileStore(root)
  for (const key of ['a/b/c/1', 'a/b/c/2', 'a/3', 'e/4']) await store.put(key, text('x'))
  mkdirSync(join(root, 'elsewhere'))
  symlinkSync(join(root, 'elsewhere'), join(root, 'link'))
  await store.remove('link/5')
  await store.remove('a/b/c/1')
  assert.deepEqual(readdirSync(join(root, 'a', 'b', 'c')), ['2'])
  await store.remove('a/b/c/2')
  assert.deepEqual(readdirSync(join(root, 'a')), ['3'])
  await Promise.all([store.remove('a/3'), store.remove('e/4'), store.remove('never/there')])
  const left = readdirSync(root).filter((name) => name !== SIDE_FOLDER)
  assert.deepEqual(left.sort(), ['elsewhere', 'link'])
  await store.put('a/b/c/1', text('again'))
  assert.deepEqual(await keysOf(store.list('')), ['a/b/c/1'])
})

test('file: who puts into a folder that others keep removing is never refused', async () => {
  const root = join(tempFolder(), 'store')
  const [putter, remover] = [new FileStore(root), new FileStore(root)]
  let isOver = false
  const removing = async () => {
    while (!isOver) await remover.remove('deep/er/folder/none')
  }
  const removers = Array.from({ length: 3 }, removing)
  try {
    for (let round = 0; round < 25; round++) {
      const key = `deep/er/folder/${round}`
      assert.equal(await putter.putIfAbsent(key, text(key)), true)
      assert.deepEqual(await keysOf(putter.list('deep/')), [key])
      await putter.remove(key)
      await putter.put(key, text(key))
      assert.equal((await putter.get(key))?.toString(), key)
      await putter.remove(key)
    }
  } finally {
    isOver = true
    await Promise.all(removers)
  }
  assert.equal(existsSync(join(root, 'deep')), false)
})

test('file: a folder that may not be written in is said to be so', async () => {
  const folder = tempFolder()
  const root = join(folder, 'read-only')
  mkdirSync(root)
  chmodSync(folder, 0o755)
  chmodSync(root, 0o555)
  // Root may write anywhere: as somebody else it meets what a user would.
  const { geteuid, seteuid } = process
  const isRoot = geteuid?.() === 0
  if (isRoot) seteuid?.(65534)
  try {
    await assert.rejects(new FileStore(root).put('k', text('x')), (error) => {
      assert.ok(isFailure(error, 'invalid'))
      assert.match(error.message, /cannot store: not allowed.*read-only/)
      assert.match(error.remedy ?? '', /right to write/)
      return true
    })
  } finally {
    if (isRoot) seteuid?.(0)
  }
})

test('file: a full disk may pass, and says what to do', (t) => {
  if (!existsSync('/dev/full')) return t.skip('needs /dev/full: not found')
  assert.throws(
    () => writeFileSync('/dev/full', 'x'),
    (error) => {
      const failure = fileFailure(error, { doing: 'store', path: '/store/k' })
      assert.ok(isFailure(failure, 'unavailable'))
      assert.match(explain(failure), /no space is left. path=\/store\/k: ENOSPC/)
      assert.match(failure.remedy ?? '', /Free space/)
      return true
    },
  )
})

test('file: a link that leads back to itself is no object, and gives way to one', async () => {
  const root = tempFolder()
  const store = new FileStore(root)
  symlinkSync('k', join(root, 'k'))
  assert.deepEqual(await keysOf(store.list('')), [])
  assert.equal(await store.head('k'), undefined)
  assert.equal(await store.get('k'), undefined)
  await store.put('k', text('x'))
  assert.equal(String(await store.get('k')), 'x')
})

test('file: a mount that has died may be there again', () => {
  const died = Object.assign(new Error('ENOTCONN: not connected'), {
    code: 'ENOTCONN',
    syscall: 'open',
  })
  const failure = fileFailure(died, { doing: 'read', path: '/mnt/k' })
  assert.ok(isFailure(failure, 'unavailable'))
  assert.match(explain(failure), /fails with ENOTCONN. path=\/mnt\/k/)
  assert.match(failure.remedy ?? '', /mounted/)
})

test('file: an error that is none of the file system’s stays what it is', () => {
  const at = { doing: 'store', path: '/k' }
  const bug = new TypeError('undefined is not a function')
  assert.equal(fileFailure(bug, at), bug)
  for (const code of ['EBADF', 'EINVAL']) {
    const misuse = Object.assign(new Error(code), { code, syscall: 'write' })
    assert.equal(fileFailure(misuse, at), misuse)
  }
  const failure = new Failure('corrupt', 'torn')
  assert.equal(fileFailure(failure, at), failure)
})

test('file: what a dead process left is not listed; it is swept when a day old', async () => {
  const root = tempFolder()
  const incoming = join(root, '.draftsmith', 'incoming')
  mkdirSync(incoming, { recursive: true })
  writeFileSync(join(incoming, 'old'), 'half an obj')
  writeFileSync(join(incoming, 'young'), 'half an obj')
  const twoDaysAgo = Date.now() / 1000 - 2 * 86_400
  utimesSync(join(incoming, 'old'), twoDaysAgo, twoDaysAgo)
  const store = new FileStore(root)
  assert.deepEqual(await keysOf(store.list('')), [])
  await store.put('k', text('x'))
  assert.deepEqual(readdirSync(incoming), ['young'])
  assert.deepEqual(await keysOf(store.list('')), ['k'])
})

test('file: what was refused or superseded leaves no temporary file', async () => {
  const root = tempFolder()
  const store = new FileStore(root)
  await store.put('k', text('x'))
  await assert.rejects(store.put('k', text('y'), { crc32: 1 }), (e) => isFailure(e, 'corrupt'))
  assert.equal(await store.putIfAbsent('k', text('y')), false)
  assert.equal(await store.putIfMatch('k', text('y'), 'other'), false)
  await assert.rejects(store.put('k/below', text('y')), (e) => isFailure(e, 'invalid'))
  assert.deepEqual(readdirSync(join(root, '.draftsmith', 'incoming')), [])
  assert.deepEqual(readdirSync(join(root, '.draftsmith', 'locks')), [])
})

test('file: putIfMatch: three processes count to 60, and no count is lost', async () => {
  const root = tempFolder()
  const store = new FileStore(root)
  await store.put('count', text('0'))
  const counters = Array.from({ length: 3 }, () => child('count', root, '20'))
  const ends = await Promise.all(counters.map((counter) => once(counter, 'exit')))
  assert.deepEqual(ends, [
    [0, null],
    [0, null],
    [0, null],
  ])
  assert.equal(String(await store.get('count')), '60')
})

test('file: the lock of a dead owner is broken, once', async () => {
  const lock = join(tempFolder(), 'lock')
  writeFileSync(lock, 'a process that died')
  const minuteAgo = Date.now() / 1000 - 60
  utimesSync(lock, minuteAgo, minuteAgo)
  let inside = 0
  const steps = Array.from({ length: 10 }, () =>
    exclusively(lock, () => {
      assert.equal(existsSync(lock), true)
      inside += 1
    }),
  )
  await Promise.all(steps)
  assert.equal(inside, 10)
  assert.equal(existsSync(lock), false)
})

test('file: killed while it puts, an object is whole, old or new (seed 11)', async () => {
  const random = seededRandom(11)
  const root = tempFolder()
  const store = new FileStore(root)
  for (let round = 0; round < 4; round++) {
    const writer = child('overwrite', root)
    assert.ok(writer.stdout)
    await once(writer.stdout, 'data')
    await wait(random() * 40)
    writer.kill('SIGKILL')
    await once(writer, 'exit')
    const found = await store.get('versions/latest')
    assert.equal(found?.length, 8 << 20)
    assert.ok(found.equals(Buffer.alloc(8 << 20, found[0] ?? 0)))
    assert.deepEqual(await keysOf(store.list('')), ['versions/latest'])
  }
})

test('file: an upload whose start was cut short is as old as its folder', async () => {
  const root = tempFolder()
  const folder = join(root, '.draftsmith', 'parts', 'cut-short')
  mkdirSync(folder, { recursive: true })
  utimesSync(folder, 1_700_000_000, 1_700_000_000)
  const [found] = await new FileStore(root).openMultiparts('')
  assert.deepEqual([found?.key, found?.startedAt], ['', 1_700_000_000_000])
})

test('file: a file that strays among the uploads hides none of them', async () => {
  const root = tempFolder()
  const store = new FileStore(root)
  const upload = await store.startMultipart('dataset/a')
  writeFileSync(join(root, '.draftsmith', 'parts', 'notes.txt'), 'not ours')
  const found = await store.openMultiparts('')
  assert.deepEqual(
    found.map(({ id }) => id),
    [upload.id],
  )
})

test('file: an upload that cannot be looked at is not taken for one that ended', async () => {
  const root = tempFolder()
  const store = new FileStore(root)
  const upload = await store.startMultipart('dataset/a')
  const key = join(root, '.draftsmith', 'parts', upload.id, 'key')
  rmSync(key)
  await assert.rejects(upload.listParts(), { message: /completed or aborted/ })
  symlinkSync('key', key)
  const message = /symbolic links lead round in a circle/
  await assert.rejects(upload.listParts(), { kind: 'invalid', message })
  await assert.rejects(store.openMultiparts(''), { kind: 'invalid', message })
})
