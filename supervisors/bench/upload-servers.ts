import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { selfMadeCertificate } from '../../src/dev-s3/certificate.ts'
import { startProcess } from './fresh.ts'
import { onPath } from './on-path.ts'
import { type Served, startEmbedded, startServing } from './served-s3.ts'

/** The servers that `bench upload` uploads to: each measurement has a new one, and empty. */

export type ServerName = 'minio' | 'embedded' | 'sink'

export interface UploadServer {
  readonly endpoint: string
  /** Ends it; what it has stored goes. */
  stop(): Promise<void>
}

/** What server and clients share: the keys, and the certificate that clients are to trust. */
export interface Trust {
  readonly env: Readonly<Record<string, string>>
  readonly cert?: string
  readonly key?: string
}

export const bucket = 'bench'
const sink = new URL('./upload-sink.js', import.meta.url)

const accessKeyId = 'bench-key'
const secretAccessKey = 'bench-secret'

/** Keys for all; with TLS, a certificate in the folder, in the variables that clients look into. */
export async function makeTrust(folder: string, tls: boolean): Promise<Trust> {
  const keys = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }
  if (!tls) return { env: keys }
  const certificates = join(folder, 'certificates')
  await mkdir(certificates, { recursive: true })
  const made = selfMadeCertificate()
  const cert = join(certificates, 'public.crt')
  const key = join(certificates, 'private.key')
  await writeFile(cert, made.cert)
  await writeFile(key, made.key, { mode: 0o600 })
  const trusted = { NODE_EXTRA_CA_CERTS: cert, AWS_CA_BUNDLE: cert, SSL_CERT_FILE: cert }
  return { env: { ...keys, ...trusted }, cert, key }
}

export const bestServer = (): ServerName => (onPath('minio') ? 'minio' : 'embedded')

export async function startServer(
  name: ServerName,
  folder: string,
  trust: Trust,
): Promise<UploadServer> {
  const data = join(folder, 'server')
  await rm(data, { recursive: true, force: true })
  const { running, endpoint } =
    name === 'minio' ? await startMinio(data, trust) : await startOwn(name, data, trust)
  return {
    endpoint,
    stop: async () => {
      await running.kill()
      await rm(data, { recursive: true, force: true })
    },
  }
}

async function startMinio(data: string, { cert }: Trust): Promise<Served> {
  const address = `127.0.0.1:${await freePort()}`
  const certificates = cert === undefined ? [] : ['--certs-dir', join(cert, '..')]
  const running = startProcess({
    command: onPath('minio') ?? 'minio',
    args: ['server', '--quiet', '--address', address, ...certificates, data],
    env: {
      MINIO_BROWSER: 'off',
      MINIO_ROOT_USER: accessKeyId,
      MINIO_ROOT_PASSWORD: secretAccessKey,
    },
  })
  return { running, endpoint: `${cert === undefined ? 'http' : 'https'}://${address}` }
}

function startOwn(
  name: 'embedded' | 'sink',
  data: string,
  { cert, key, env }: Trust,
): Promise<Served> {
  const files = cert !== undefined && key !== undefined ? [cert, key] : []
  if (name === 'sink') return startServing({ script: sink, args: [bucket, ...files], env })
  const named = files.length === 0 ? [] : ['--cert', files[0], '--key', files[1]]
  return startEmbedded(['--dir', data, ...named], env)
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
