import { mkdirSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import type { RunStatus } from '../../protocol/console.ts'
import { encodeAnswer } from '../../protocol/console-lines.ts'
import { sleep } from '../../src/clock.ts'
import { Failure, hasCode, isFailure } from '../../src/failure.ts'
import { logFile } from '../log-target.ts'
import { ConsoleClient } from './console-client.ts'
import { type Answer, Conversation } from './conversation.ts'
import { consoleFolder, socketPath, thisUid } from './socket-path.ts'

/**
 * The work folder's socket: who listens on it holds the folder, and answers what is asked of the
 * run. A process that dies leaves nobody listening, so a stale socket is told from a live one by
 * asking.
 */

export interface Patience {
  /** How long a question waits for its answer. */
  readonly askMs: number
  /** A launcher that was killed takes its process with it within this. */
  readonly dyingMs: number
}
const patient: Patience = { askMs: 5000, dyingMs: 3000 }

export interface HeldWorkplace {
  release(): void
}

/** Connections at once. */
const callersMax = 16

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
  makeOwnFolder(consoleFolder(work))
  const path = socketPath(work)
  makeOwnFolder(dirname(path))
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

/** Only our own will do, and nobody else may look into it. */
function makeOwnFolder(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw cannotListen(dir, cause)
  }
  const { uid, mode } = statSync(dir)
  if (uid === thisUid() && (mode & 0o077) === 0) return
  throw new Failure(
    'invalid',
    `the socket's folder is open to others. path=${dir}, want=uid ${thisUid()}, mode 700, ` +
      `found=uid ${uid}, mode ${(mode & 0o777).toString(8)}`,
    { remedy: 'Remove it, or give another work folder.' },
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
    const callers = new Set<Socket>()
    const server = createServer((socket) => {
      if (callers.size >= callersMax) return refuse(socket)
      callers.add(socket)
      socket.once('close', () => callers.delete(socket))
      new Conversation(socket, answer)
    })
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

function refuse(socket: Socket): void {
  const error = `too many consoles are connected. max=${callersMax}`
  socket.on('error', () => socket.destroy())
  const told = encodeAnswer({ kind: 'error', error, remedy: 'Close one of them.' })
  socket.end(told + encodeAnswer({ kind: 'end' }))
}

/**
 * Undefined where nobody does. One who takes the question and does not answer in time is alive all
 * the same: its thread is busy.
 */
async function whoListens(path: string, askMs: number): Promise<number | 'unknown' | undefined> {
  try {
    const client = await ConsoleClient.connect(path, askMs)
    client.close()
    return client.pid
  } catch (error) {
    return hasCode(error, 'ECONNREFUSED', 'ENOENT') ? undefined : 'unknown'
  }
}

/** What was said to a line. */
export interface Told {
  readonly text: string
  readonly status?: RunStatus
  readonly error?: string
  readonly remedy?: string | null
}

/**
 * Asks the supervisor that holds the folder.
 *
 * @throws  Failure `unavailable`: nobody does; `invalid`: the socket is another user's
 */
export async function askSupervisor(work: string, line: string): Promise<Told> {
  const { askMs } = patient
  const client = await consoleOf(work)
  const late = setTimeout(() => client.close(), askMs)
  const texts: string[] = []
  let told: Omit<Told, 'text'> = {}
  try {
    await client.ask(line, (answer) => {
      if (answer.kind === 'text') texts.push(answer.text)
      if (answer.kind === 'status') told = { ...told, status: answer.status }
      if (answer.kind === 'error') told = { error: answer.error, remedy: answer.remedy }
    })
    return { ...told, text: texts.join('\n') }
  } catch (cause) {
    throw isFailure(cause) ? cause : nobody(work, cause)
  } finally {
    clearTimeout(late)
    client.close()
  }
}

/** @throws  as `askSupervisor` */
export async function consoleOf(work: string): Promise<ConsoleClient> {
  try {
    return await ConsoleClient.connect(socketPath(work), patient.askMs)
  } catch (cause) {
    throw isFailure(cause) ? cause : nobody(work, cause)
  }
}

function nobody(work: string, cause: unknown): Failure {
  if (hasCode(cause, 'EACCES', 'EPERM')) {
    return new Failure('invalid', `the console opens to its owner alone. work=${work}`, {
      cause,
      remedy: 'Run this as the user who runs the supervisor.',
    })
  }
  return new Failure('unavailable', `no supervisor runs there. work=${work}`, {
    cause,
    remedy:
      'Start one with `draftsmith run CONFIG`, or name its folder with --work. What is stored ' +
      'tells `draftsmith verify STORE`; how the last run ended, the last lines of ' +
      `${logFile(work)}.`,
  })
}
