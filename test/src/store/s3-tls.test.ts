/**
 * The same store through TLS. Node reads the certificates that it shall trust when it starts: so
 * this file runs itself once more, in a process that trusts the server's own.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { seededRandom } from '../../../src/clock.ts'
import { selfMadeCertificate } from '../../../src/dev-s3/certificate.ts'
import { type DevS3, startDevS3 } from '../../../src/dev-s3/server.ts'
import { isFailure } from '../../../src/failure.ts'
import { retrying } from '../../../src/store/retry.ts'
import { conformance } from './conformance.ts'
import { HastyClock } from './hasty-clock.ts'
import { env, s3At, tempFolder } from './opening.ts'

const folder = process.env.DRAFTSMITH_TEST_TLS

async function secure(cert: string, key: string): Promise<DevS3> {
  const server = await startDevS3({
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    buckets: ['bucket'],
    tls: { cert, key },
  })
  after(() => server.close())
  return server
}

if (folder === undefined) {
  test('s3 over TLS: a certificate that nobody vouches for is refused by name', async () => {
    const { cert, key } = selfMadeCertificate()
    const store = s3At((await secure(cert, key)).endpoint)
    for (const ask of [() => store.put('k', Buffer.from('x')), () => store.get('k')]) {
      await assert.rejects(ask, (error) => {
        assert.ok(isFailure(error, 'invalid'))
        return /certificate/.test(error.message) && /NODE_EXTRA_CA_CERTS/.test(error.remedy ?? '')
      })
    }
  })

  test('s3 over TLS: trusted, all that holds without it holds with it', async () => {
    const dir = tempFolder()
    const { cert, key } = selfMadeCertificate()
    writeFileSync(join(dir, 'cert.pem'), cert)
    writeFileSync(join(dir, 'key.pem'), key, { mode: 0o600 })
    const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 300_000,
      killSignal: 'SIGKILL',
      env: {
        ...inherited,
        NODE_EXTRA_CA_CERTS: join(dir, 'cert.pem'),
        DRAFTSMITH_TEST_TLS: dir,
      },
    })
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text
    })
    const [code] = await once(child, 'close')
    assert.equal(code, 0, `it failed, or hung. said=${said}`)
    assert.match(said, /# pass [1-9]\d/)
  })
} else {
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const server = await secure(read('cert.pem'), read('key.pem'))
  assert.match(server.endpoint, /^https:/)
  let opened = 0
  conformance('s3 over TLS', async () => s3At(server.endpoint, { prefix: `store ${opened++}` }))

  test('s3 over TLS: cut and half-read puts are tried again, and whole at the end', async () => {
    const faulty = await secure(read('cert.pem'), read('key.pem'))
    const options = { attempts: 8, clock: new HastyClock(), random: seededRandom(2) }
    const store = retrying(s3At(faulty.endpoint), options)
    faulty.faults.push(
      { times: 2, kind: 'reset' },
      { times: 2, kind: 'half-read' },
      { times: 1, kind: 'drop-answer' },
    )
    const body = Buffer.alloc(1_100_000, 'body')
    await store.put('k', body)
    assert.equal(faulty.faults.length, 0)
    assert.deepEqual(await store.get('k'), body)
  })
}
