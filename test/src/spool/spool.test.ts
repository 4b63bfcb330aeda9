import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import {
  chmod,
  mkdir,
  open,
  readdir,
  readFile,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { seededRandom } from '../../../src/clock.ts'
import { writeAll } from '../../../src/disk.ts'
import { parseSpoolName, spoolName } from '../../../src/spool/name.ts'
import { inspect, recoverSpool } from '../../../src/spool/recover.ts'
import { freeBytes, openSpool } from '../../../src/spool/spool.ts'
import { needs } from '../../support/needs.ts'
import { randomHash } from '../manifest/entries.ts'
import { folder, makePipes } from './folder.ts'

const random = seededRandom(1)

function sample(bytes: number, pieces = 3) {
  const whole = Buffer.from(Array.from({ length: bytes }, () => Math.floor(random() * 256)))
  const cut = Math.ceil(bytes / pieces)
  const parts = Array.from({ length: pieces }, (_, i) => whole.subarray(i * cut, (i + 1) * cut))
  return { whole, hash: randomHash(random), tokens: 7, bytes, crc32: crc32(whole), parts }
}

test('spool: a folder that is not there is made, with those above it', async (t) => {
  const dir = join(folder(t), 'fresh', 'spool')
  await (await openSpool(dir)).add(sample(10))
  assert.equal((await readdir(dir)).length, 1)
})

test('spool: what was added is there, under a name that proves it', async (t) => {
  const spool = await openSpool(folder(t))
  const { whole, ...one } = sample(1000)
  const ref = await spool.add(one)
  assert.deepEqual(ref, { hash: one.hash, tokens: 7, bytes: 1000, crc32: one.crc32 })
  assert.ok((await readFile(spool.path(ref))).equals(whole))
  assert.deepEqual(await spool.list(), { samples: [ref], temps: [], foreign: [] })
  // The same sample again, as after a crash before its commit: one file.
  await spool.add(one)
  assert.equal((await readdir(spool.dir)).length, 1)
  await spool.remove(ref)
  await spool.remove(ref)
  assert.deepEqual(await readdir(spool.dir), [])
})

test('spool: parts that are not the file never get a name', async (t) => {
  const spool = await openSpool(folder(t))
  await assert.rejects(spool.add({ ...sample(10), bytes: 11 }), /want=11, found=10/)
  assert.deepEqual(await readdir(spool.dir), [])
})

test('spool: names are read back; what no manifest could name is foreign', () => {
  const ref = { hash: randomHash(random), tokens: 2048, bytes: 1_100_000, crc32: 0xab }
  const name = spoolName(ref)
  assert.deepEqual(parseSpoolName(name), ref)
  const { hash } = ref
  const others = [
    `${hash}-02048-1100000-000000ab.safetensors`,
    `${hash}-2048-1100000-AB.safetensors`,
    `${hash.toUpperCase()}-2048-1100000-000000ab.safetensors`,
    `${hash}-2048-9999999999999999-000000ab.safetensors`,
    `${hash}-2048-0-00000000.safetensors`,
    `${hash}-0-1100000-000000ab.safetensors`,
    `${hash}-${2 ** 32}-1100000-000000ab.safetensors`,
    `${name}\n`,
    `${name}.tmp`,
    `x${name}`,
  ]
  for (const other of others) assert.equal(parseSpoolName(other), undefined, other)
})

test('spool: an unwritable folder is told, with the way out', async (t) => {
  const dir = folder(t)
  await writeFile(join(dir, 'file'), '')
  await assert.rejects(openSpool(join(dir, 'file')), { kind: 'invalid', remedy: /work/ })
  await assert.rejects(openSpool(join(dir, 'file', 'spool')), {
    kind: 'invalid',
    message: /ENOTDIR/,
  })
  await assert.rejects(freeBytes(join(dir, 'none')), { kind: 'invalid', message: /ENOENT/ })
})

test('spool: a folder without rights to write is told', async (t) => {
  if (process.getuid?.() === 0) return t.skip('root may write everywhere')
  const spool = await openSpool(folder(t))
  await chmod(spool.dir, 0o500)
  await assert.rejects(spool.add(sample(10)), { kind: 'invalid', message: /EACCES/ })
})

test('spool: free room is that of the disk', async (t) => {
  const free = await freeBytes(folder(t))
  assert.ok(Number.isSafeInteger(free) && free > 0)
})

test('spool: pieces that the system takes in parts are written whole', async () => {
  const { whole, parts } = sample(1000, 7)
  const taken: Buffer[] = []
  await writeAll(
    {
      writev: async <T extends readonly NodeJS.ArrayBufferView[]>(buffers: T) => {
        const next = Buffer.concat(buffers.filter((b) => b instanceof Uint8Array)).subarray(0, 137)
        taken.push(next)
        return { bytesWritten: next.length, buffers }
      },
    },
    [new Uint8Array(0), ...parts],
  )
  assert.ok(Buffer.concat(taken).equals(whole))
})

test('spool: a full disk leaves no file behind, and says that it may pass', (t) => {
  const unshare = needs(t, 'unshare')
  if (!unshare) return
  const dir = folder(t)
  const program = `
    const { openSpool, freeBytes } = await import(process.argv[1])
    const { readdir } = await import('node:fs/promises')
    const spool = await openSpool(process.argv[2])
    const parts = Array.from({ length: 8 }, () => new Uint8Array(512 << 10))
    const sample = { hash: 'ab'.repeat(16), tokens: 1, bytes: 4 << 20, crc32: 0, parts }
    const kind = await spool.add(sample).then(() => 'stored', (error) => error.kind)
    console.log(JSON.stringify([kind, await readdir(spool.dir), await freeBytes(spool.dir)]))`
  const run = spawnSync(unshare, [
    ...['-rm', 'sh', '-c', 'mount -t tmpfs -o size=1m tmpfs "$3" && exec "$0" -e "$1" "$2" "$3"'],
    ...[
      process.execPath,
      program,
      new URL('../../../src/spool/spool.js', import.meta.url).href,
      dir,
    ],
  ])
  if (run.status !== 0)
    return t.skip(`no small disk can be mounted here: ${run.stderr ?? run.error}`)
  assert.deepEqual(JSON.parse(String(run.stdout)), ['unavailable', [], 1 << 20])
})

/** A spool as a crash of the machine may leave it. */
async function crashed(t: TestContext) {
  const spool = await openSpool(folder(t))
  const whole = [await spool.add(sample(3_000_001)), await spool.add(sample(1))]
  const torn = await Promise.all([1000, 1000, 1000, 1000].map((bytes) => spool.add(sample(bytes))))
  const path = (i: number): string => spool.path(torn[i] ?? assert.fail())
  await truncate(path(0), 999) // cut short
  await truncate(path(1), 0) // renamed before its bytes reached the disk
  await writeFile(path(2), Buffer.alloc(1000)) // its length was written, its bytes were not
  const file = await open(path(3), 'r+')
  await file.write('\0\0', 500) // two bytes changed
  await file.close()
  const temp = `.${spoolName(whole[0] ?? assert.fail())}.0123456789abcdef.tmp`
  await writeFile(join(spool.dir, temp), 'half')
  await writeFile(join(spool.dir, 'notes.txt'), 'a person wrote this')
  await mkdir(join(spool.dir, 'old'))
  return { spool, whole, torn: torn.map(spoolName), temp }
}

test('recovery: whole files are kept, torn and temporary ones go, foreign ones stay', async (t) => {
  const { spool, whole, torn, temp } = await crashed(t)
  const progress: number[] = []
  const found = await recoverSpool(spool, {
    onProgress: ({ checked, files }) => progress.push(checked / files),
  })
  const byName = (a: { hash: string }, b: { hash: string }) => (a.hash < b.hash ? -1 : 1)
  assert.deepEqual([...found.good].sort(byName), [...whole].sort(byName))
  assert.deepEqual([...found.torn].sort(), [...torn].sort())
  assert.deepEqual(found.temps, [temp])
  assert.deepEqual([...found.foreign].sort(), ['notes.txt', 'old'])
  assert.equal(progress.at(-1), 1)
  assert.deepEqual(
    (await readdir(spool.dir)).sort(),
    [...whole.map(spoolName), 'notes.txt', 'old'].sort(),
  )
  assert.deepEqual((await recoverSpool(spool)).torn, [])
})

test('recovery: what bears a name of ours and is no file is left alone', async (t) => {
  const spool = await openSpool(folder(t))
  const whole = await spool.add(sample(100))
  const [pipe, dir, link, temp] = Array.from({ length: 4 }, () => spoolName(sample(10)))
  if (!makePipes(t, [join(spool.dir, pipe)])) return
  await mkdir(join(spool.dir, dir))
  await symlink(spool.path(whole), join(spool.dir, link))
  const tempDir = `.${temp}.0123456789abcdef.tmp`
  await mkdir(join(spool.dir, tempDir))
  const found = await recoverSpool(spool)
  assert.deepEqual(found.good, [whole])
  assert.deepEqual([...found.foreign].sort(), [pipe, dir, link, tempDir].sort())
  assert.equal((await readdir(spool.dir)).length, 5)
})

test('spool: a folder in the place of a sample is refused by its name', async (t) => {
  const spool = await openSpool(folder(t))
  const one = sample(10)
  await mkdir(join(spool.dir, spoolName(one)))
  await assert.rejects(spool.add(one), { kind: 'invalid', message: new RegExp(spoolName(one)) })
  assert.deepEqual(await readdir(spool.dir), [spoolName(one)])
})

test('recovery: those that are known are neither read nor told', async (t) => {
  const spool = await openSpool(folder(t))
  const [known, other] = [await spool.add(sample(10)), await spool.add(sample(20))]
  await truncate(spool.path(known), 3)
  const found = await recoverSpool(spool, { skip: ({ hash }) => hash === known.hash })
  assert.deepEqual([found.good, found.torn], [[other], []])
})

test('recovery: a sample that is being added meanwhile gets its name all the same', async (t) => {
  const spool = await openSpool(folder(t))
  const hook = Symbol.for('draftsmith.probe')
  let taken = 0
  const take = (moment: string): void => {
    if (moment !== 'spool.before-rename' || taken > 0) return
    for (const name of readdirSync(spool.dir)) rmSync(join(spool.dir, name))
    taken++
  }
  Object.assign(globalThis, { [hook]: take })
  t.after(() => Reflect.deleteProperty(globalThis, hook))
  const ref = await spool.add(sample(1000))
  assert.equal(taken, 1)
  assert.deepEqual(await recoverSpool(spool), { good: [ref], torn: [], temps: [], foreign: [] })
})

test('recovery: a file that goes away meanwhile is neither whole nor torn', async (t) => {
  const spool = await openSpool(folder(t))
  const ref = await spool.add(sample(10))
  assert.equal(await inspect(spool, ref, new Uint8Array(4)), 'whole')
  await spool.remove(ref)
  assert.equal(await inspect(spool, ref, new Uint8Array(4)), 'gone')
})
