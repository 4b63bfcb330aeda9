import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { sleep } from '../src/clock.ts'
import { Failure } from '../src/failure.ts'

/**
 * The work folder's socket: who listens on it holds the folder, and answers what is asked of the
 * run. A process that dies leaves nobody listening, so a stale socket is told from a live one by
 * asking.
 */

/** The system's limit on a socket's path, less some. */
const socketPathMax = 100
const askMs = 5000
/** A launcher that was killed takes its process with it within this. */
const dyingMs = 3000

/** A line in, an answer out. */
export type Answer = (line: string) => Promise<unknown>

export interface HeldWorkplace {
  release(): void
}

/** In the work folder; where its path is too long for a socket, in a folder of the user's own. */
export function socketPath(work: string): string {
  const inside = join(work, 'draftsmith.sock')
  if (Buffer.byteLength(inside) <= socketPathMax) return inside
  const name = createHash('sha256').update(work).digest('hex').slice(0, 16)
  return join(tmpdir(), `draftsmith-${userInfo().uid}`, `${name}.sock`)
}

/**
 * Takes the folder for this process.
 *
 * @throws  Failure `superseded`: another supervisor works in it
 */
export async function holdWorkplace(work: string, answer: Answer): Promise<HeldWorkplace> {
  const path = socketPath(work)
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
  const until = Date.now() + dyingMs
  for (;;) {
    const server = await listen(path, answer)
    if (server) return { release: () => void server.close() }
    const holder = await whoListens(path)
    if (holder === undefined) rmSync(path, { force: true })
    else if (Date.now() > until) throw held(work, holder)
    await sleep(50)
  }
}

const held = (work: string, pid: number): Failure =>
  new Failure('superseded', `another supervisor works in this folder. work=${work}, pid=${pid}`, {
    remedy: 'See `draftsmith status`, stop it first, or give another work folder.',
  })

function listen(path: string, answer: Answer): Promise<Server | undefined> {
  // Only the owner may open what is made under this mask, from its first moment.
  const mask = process.umask(0o177)
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => converse(socket, answer))
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(cannotListen(path, error))
    })
    server.listen(path, () => {
      chmodSync(path, 0o600)
      resolve(server)
    })
  }).finally(() => process.umask(mask)) as Promise<Server | undefined>
}

const cannotListen = (path: string, cause: unknown): Failure =>
  new Failure('invalid', `the work folder takes no socket. path=${path}`, {
    cause,
    remedy: 'Put work on a local disk that allows sockets.',
  })

function converse(socket: Socket, answer: Answer): void {
  socket.on('error', () => socket.destroy())
  const lines = createInterface({ input: socket })
  lines.on('error', () => lines.close())
  lines.on('line', (line) => {
    const reply = line === 'who' ? Promise.resolve({ pid: process.pid }) : answer(line)
    reply
      .catch((error: unknown) => ({
        error: error instanceof Error ? error.message : String(error),
      }))
      .then((value) => socket.writable && socket.write(`${JSON.stringify(value)}\n`))
  })
}

async function whoListens(path: string): Promise<number | undefined> {
  const reply = await ask(path, 'who').catch(() => undefined)
  if (typeof reply !== 'object' || reply === null || !('pid' in reply)) return undefined
  return Number(reply.pid)
}

/**
 * Asks the supervisor that holds the folder.
 *
 * @throws  Failure `unavailable`: nobody does
 */
export async function askSupervisor(work: string, line: string): Promise<unknown> {
  try {
    return await ask(socketPath(work), line)
  } catch (cause) {
    throw new Failure('unavailable', `no supervisor runs there. work=${work}`, {
      cause,
      remedy: 'Start one with `draftsmith run CONFIG`, or name its folder with --work.',
    })
  }
}

function ask(path: string, line: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.setTimeout(askMs, () => socket.destroy(new Error(`no answer within ${askMs} ms`)))
    socket.once('error', reject)
    const replies = createInterface({ input: socket })
    // It tells the socket's error a second time, and dies of it where nobody listens.
    replies.on('error', reject)
    replies.once('line', (reply) => {
      socket.end()
      resolve(JSON.parse(reply))
    })
    socket.once('close', () => reject(new Error('closed without an answer')))
    socket.write(`${line}\n`)
  })
}
