import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { sleep } from '../../src/clock.ts'
import { Failure } from '../../src/failure.ts'

/**
 * The work folder's socket: who listens on it holds the folder, and answers what is asked of the
 * run. A process that dies leaves nobody listening, so a stale socket is told from a live one by
 * asking.
 */

/** The system's limit on a socket's path, less some. */
const socketPathMax = 100

export interface Patience {
  /** How long a question waits for its answer. */
  readonly askMs: number
  /** A launcher that was killed takes its process with it within this. */
  readonly dyingMs: number
}
const patient: Patience = { askMs: 5000, dyingMs: 3000 }

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
 * @throws  Failure `superseded`: another supervisor works in it; `invalid`: it takes no socket
 */
export async function holdWorkplace(
  work: string,
  answer: Answer,
  { askMs, dyingMs }: Patience = patient,
): Promise<HeldWorkplace> {
  const path = socketPath(work)
  makeOwnFolder(dirname(path), work)
  const until = Date.now() + dyingMs
  for (;;) {
    const server = await listen(path, answer)
    if (server) return { release: () => void server.close() }
    const before = identityOf(path)
    const holder = await whoListens(path, askMs)
    if (holder === undefined) removeStale(path, before)
    else if (Date.now() > until) throw held(work, holder)
    await sleep(50)
  }
}

const held = (work: string, pid: number | 'unknown'): Failure =>
  new Failure('superseded', `another supervisor works in this folder. work=${work}, pid=${pid}`, {
    remedy: `See \`draftsmith status --work ${work}\`, stop it first, or give another work folder.`,
  })

/** Outside the work folder the socket lies where anyone may make folders: only our own will do. */
function makeOwnFolder(dir: string, work: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (dir === work) return
  const { uid, mode } = lstatSync(dir)
  if (uid === userInfo().uid && (mode & 0o077) === 0) return
  throw new Failure(
    'invalid',
    `the socket's folder is open to others. path=${dir}, want=uid ${userInfo().uid}, mode 700, ` +
      `found=uid ${uid}, mode ${(mode & 0o777).toString(8)}`,
    { remedy: 'Remove it, or give a work folder with a shorter path.' },
  )
}

/** Which file a path names now: another of the same name has another. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.ino} ${found.ctimeNs}`
}

/** Only the very file that was found dead: another start may have taken its place meanwhile. */
function removeStale(path: string, stale: string | undefined): void {
  if (stale !== undefined && identityOf(path) === stale) rmSync(path, { force: true })
}

/** Undefined where the name is taken. */
function listen(path: string, answer: Answer): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => converse(socket, answer))
    // It stays for what comes later, such as a connection for which no descriptor is left.
    server.on('error', (error) => {
      if ('code' in error && error.code === 'EADDRINUSE') resolve(undefined)
      else reject(cannotListen(path, error))
    })
    // Only the owner may open what is made under this mask, from its first moment.
    const mask = process.umask(0o177)
    server.listen(path, () => resolve(server))
    process.umask(mask)
  })
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

/**
 * Undefined where nobody does. One who takes the question and does not answer in time is alive all
 * the same: its thread is busy.
 */
async function whoListens(path: string, askMs: number): Promise<number | 'unknown' | undefined> {
  try {
    const reply = await ask(path, 'who', askMs)
    const told = typeof reply === 'object' && reply !== null && 'pid' in reply
    return told && typeof reply.pid === 'number' ? reply.pid : 'unknown'
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code === 'ECONNREFUSED' || code === 'ENOENT' ? undefined : 'unknown'
  }
}

/**
 * Asks the supervisor that holds the folder.
 *
 * @throws  Failure `unavailable`: nobody does
 */
export async function askSupervisor(work: string, line: string): Promise<unknown> {
  try {
    return await ask(socketPath(work), line, patient.askMs)
  } catch (cause) {
    throw new Failure('unavailable', `no supervisor runs there. work=${work}`, {
      cause,
      remedy: 'Start one with `draftsmith run CONFIG`, or name its folder with --work.',
    })
  }
}

function ask(path: string, line: string, askMs: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.setTimeout(askMs, () => socket.destroy(new Error(`no answer within ${askMs} ms`)))
    socket.once('error', reject)
    const replies = createInterface({ input: socket })
    // It tells the socket's error a second time, and dies of it where nobody listens.
    replies.on('error', reject)
    replies.once('line', (reply) => {
      socket.end()
      // Of a supervisor that died amid its answer, half a line comes.
      try {
        resolve(JSON.parse(reply))
      } catch (error) {
        reject(error)
      }
    })
    socket.once('close', () => reject(new Error('closed without an answer')))
    socket.write(`${line}\n`)
  })
}
