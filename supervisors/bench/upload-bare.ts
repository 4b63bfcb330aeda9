import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { crc32 } from 'node:zlib'
import { crcToHeader } from '../../src/store/s3-headers.ts'
import { encodeKey, Signer } from '../../src/store/s3-sign.ts'
import { inLanes, jobOf, measured, namesOf, pathOf, region } from './upload-job.ts'

/**
 * The ceiling of `bench upload`: what a program without any care could do. A socket a lane, the
 * request's head as text, the file behind it, the answer's status looked at; no deadline, no retry,
 * no confirmation. The second argument says whether the bytes are summed and the sum is sent.
 */

const job = jobOf(process.argv[2])
const checksum = process.argv[3] === 'checksum'
const { hostname, port, protocol, host } = new URL(job.endpoint)
const keys = {
  accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? '',
  secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? '',
}
const signer = new Signer(region)

async function dial(): Promise<Socket> {
  const to = { host: hostname, port: Number(port) }
  const secure = protocol === 'https:'
  const socket = secure ? connectSecure(to) : connect(to)
  socket.setNoDelay(true)
  await once(socket, secure ? 'secureConnect' : 'connect')
  return socket
}

function headOf(path: string, bytes: Buffer): string {
  const headers = {
    host,
    'content-length': String(bytes.length),
    'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
    ...(checksum && { 'x-amz-checksum-crc32': crcToHeader(crc32(bytes)) }),
  }
  const signed = signer.sign({ method: 'PUT', path, headers }, keys, new Date())
  const lines = Object.entries(signed).map(([name, value]) => `${name}: ${value}\r\n`)
  return `PUT ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** Settles when a whole answer is there. @throws Error: it is no 200 */
function answered(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = ''
    const done = (how: () => void) => {
      socket.off('data', read).off('error', failed).off('close', failed)
      how()
    }
    const failed = (error?: unknown) => done(() => reject(error ?? new Error('closed')))
    const read = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0)
      if (end < 0 || text.length < end + 4 + length) return
      if (text.startsWith('HTTP/1.1 200')) done(resolve)
      else failed(new Error(text))
    }
    socket.on('data', read).on('error', failed).on('close', failed)
  })
}

const names = await namesOf(job)
const sockets = await Promise.all(Array.from({ length: job.parallel }, dial))
await measured(() =>
  inLanes(names, job.parallel, async (name, lane) => {
    const socket = sockets[lane]
    const bytes = await readFile(pathOf(job, name))
    const path = `/${job.bucket}/${encodeKey(job.prefix + name)}`
    socket.cork()
    socket.write(headOf(path, bytes), 'latin1')
    socket.write(bytes)
    socket.uncork()
    await answered(socket)
  }),
)
for (const socket of sockets) socket.destroy()
