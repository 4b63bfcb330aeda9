import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { type Disk, systemDisk } from '../../../src/disk.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import { requireOwn, takeSpool, waitingIn } from '../../../supervisors/run/own-spool.ts'
import { scratch } from '../../support/target-run.ts'

async function spoolIn(t: TestContext) {
  const work = await scratch(t)
  const spool = await openSpool(join(work, 'spool'))
  const add = (text: string) => {
    const bytes = Buffer.from(text)
    const hash = bytes.toString('hex').padEnd(32, '0')
    const sample = { hash, tokens: 1, bytes: bytes.length, crc32: crc32(bytes) }
    return spool.add({ ...sample, parts: [bytes] })
  }
  return { work, spool, add }
}

const ofAnother = {
  kind: 'invalid',
  message: /of another run. path=.*spool, samples=1, want=B, found=A$/,
  remedy: /another work folder/,
}

test('own spool: an empty one is taken, whoever had it before', async (t) => {
  const { work, spool } = await spoolIn(t)
  const first = await takeSpool(work, 'A')
  assert.deepEqual(first, { dir: spool.dir, samples: 0, bytes: 0, run: undefined })
  assert.equal((await takeSpool(work, 'B')).run, 'A')
  assert.equal((await waitingIn(work)).run, 'B')
  assert.deepEqual((await readdir(work)).sort(), ['spool', 'spool-of-run'])
})

test('own spool: what a run left waits for it alone, torn or whole', async (t) => {
  const { work, spool, add } = await spoolIn(t)
  await takeSpool(work, 'A')
  const sample = await add('one')
  assert.equal((await takeSpool(work, 'A')).samples, 1)
  await assert.rejects(takeSpool(work, 'B'), ofAnother)
  await truncate(spool.path(sample), 1)
  await assert.rejects(takeSpool(work, 'B'), ofAnother)
  assert.deepEqual(await waitingIn(work), {
    dir: spool.dir,
    samples: 1,
    bytes: sample.bytes,
    run: 'A',
  })
  assert.throws(() => requireOwn({ dir: 'd', samples: 1, bytes: 1, run: 'A' }, null), {
    message: /want=a new run, found=A/,
  })
  await spool.remove(sample)
  await takeSpool(work, 'B')
  assert.equal(await readFile(join(work, 'spool-of-run'), 'utf8'), 'B\n')
})

test('own spool: samples of which nothing says whose they are become this run’s', async (t) => {
  const { work, add } = await spoolIn(t)
  await add('one')
  assert.equal((await takeSpool(work, 'A')).run, undefined)
  await assert.rejects(takeSpool(work, 'B'), ofAnother)
  await writeFile(join(work, 'spool-of-run'), '')
  assert.equal((await takeSpool(work, 'B')).run, undefined)
})

test('own spool: the owner outlives a loss of power, what was removed does not', async (t) => {
  const { work, add, spool } = await spoolIn(t)
  await takeSpool(work, 'A')
  await spool.remove(await add('one'))
  const story: string[] = []
  const { now } = systemDisk
  const told = (line: string, path: string) => void story.push(`${line} ${relative(work, path)}`)
  const disk: Disk = {
    ...systemDisk,
    now: {
      ...now,
      create: (path, bytes, how) => {
        told(`create ${how}`, path.replace(/\.[0-9a-f]+\.tmp$/, '.tmp'))
        now.create(path, bytes, how)
      },
      rename: (from, to) => {
        told('rename to', to)
        now.rename(from, to)
      },
      syncFolder: (path) => {
        told('sync', path)
        now.syncFolder(path)
      },
    },
  }
  for (const run of ['B', 'B']) await takeSpool(work, run, { disk, random: Math.random })
  assert.deepEqual(story, [
    'sync spool',
    'create synced spool-of-run.tmp',
    'rename to spool-of-run',
    'sync ',
  ])
})

test('own spool: an id that cannot be read or written is told', async (t) => {
  const { work } = await spoolIn(t)
  await mkdir(join(work, 'spool-of-run'))
  await assert.rejects(takeSpool(work, 'A'), { kind: 'invalid', message: /was not read/ })
})
