import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Failure } from '../../../src/failure.ts'
import { FileStore } from '../../../src/store/file.ts'
import { marked } from '../../../src/store/marked.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { patientStore } from '../../../src/store/patient.ts'
import { Permits } from '../../../src/store/permits.ts'

const mark = 'run.json'

/** A folder that is there, or an empty one in its place: what is left of an unmounted disk. */
class Mount {
  readonly path: string

  constructor(t: TestContext) {
    const dir = mkdtempSync(join(tmpdir(), 'draftsmith-marked-'))
    t.after(() => rmSync(dir, { recursive: true }))
    this.path = join(dir, 'store')
  }

  unmount(): void {
    renameSync(this.path, `${this.path}.away`)
    mkdirSync(this.path)
  }

  /** Only where nothing was put under it. */
  mount(): void {
    rmdirSync(this.path)
    renameSync(`${this.path}.away`, this.path)
  }
}

const away = { kind: 'unavailable', message: /lacks=run\.json/ }

test('marked: an unmounted folder lacks nothing, and takes nothing', async (t) => {
  const mount = new Mount(t)
  const bare = new FileStore(mount.path)
  await bare.put(mark, Buffer.from('{}'))
  const store = marked(bare, mark)
  await store.put('a', Buffer.from('1'))
  mount.unmount()
  for (const ask of [
    () => store.put('b', Buffer.from('2')),
    () => store.putIfAbsent('b', Buffer.from('2')),
    () => store.get('a'),
    () => store.head('a'),
    () => store.listPage({ prefix: '' }),
    () => store.remove('a'),
    () => store.startMultipart('b'),
    () => store.openMultiparts(''),
  ]) {
    await assert.rejects(ask, away)
  }
  assert.deepEqual(readdirSync(mount.path), [])
  mount.mount()
  assert.equal(String(await store.get('a')), '1')
  await store.put('b', Buffer.from('2'))
  assert.equal(String(await bare.get('b')), '2')
})

test('marked: what was put as the folder went away is not stored', async (t) => {
  const mount = new Mount(t)
  class Leaving extends FileStore {
    override async put(...args: Parameters<FileStore['put']>) {
      mount.unmount()
      return await super.put(...args)
    }
  }
  await new FileStore(mount.path).put(mark, Buffer.from('{}'))
  const store = marked(new Leaving(mount.path), mark)
  await assert.rejects(store.put('a', Buffer.from('1')), away)
})

test('marked: what fails as the folder goes away may pass', async (t) => {
  const mount = new Mount(t)
  class Leaving extends FileStore {
    override async put(): Promise<never> {
      mount.unmount()
      throw new Failure('invalid', 'cannot store: the file system takes no new folder')
    }
  }
  await new FileStore(mount.path).put(mark, Buffer.from('{}'))
  const store = marked(new Leaving(mount.path), mark)
  await assert.rejects(store.put('a', Buffer.from('1')), away)
})

test('marked: a patient store waits until the folder is there again', async (t) => {
  const mount = new Mount(t)
  await new FileStore(mount.path).put(mark, Buffer.from('{}'))
  mount.unmount()
  let tries = 0
  const store = await patientStore(
    { url: new FileStore(mount.path).url, s3: {}, mark },
    {
      acquire: new Permits(1).taker('test', 'sample'),
      attempts: 5,
      onRetry: () => {
        tries += 1
        if (tries === 2) mount.mount()
      },
    },
  )
  await store.put('a', Buffer.from('1'))
  assert.equal(tries, 2)
})

test('marked: of a store that is no folder nothing more is asked', async () => {
  const store = new MemoryStore()
  assert.equal(marked(store, mark), store)
})
