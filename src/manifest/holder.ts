/** Who holds a run: what the lock says of a supervisor, and what this machine can tell of one. */
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { z } from 'zod'
import { hasCode } from '../failure.ts'

export const lockKey = 'manifest/lock.json'

/** The last moment that a date can name. */
const momentMax = 8.64e15

const holderSchema = z.object({
  writer: z.string(),
  host: z.string(),
  /** Changes when the machine starts anew; then its process numbers mean nothing. */
  bootId: z.string(),
  /** In which its process number means something: a container has one of its own. */
  pidSpace: z.string().optional(),
  pid: z.int().positive(),
  /** When it started, in the machine's own ticks; absent where the system does not tell. */
  startTicks: z.number().optional(),
  /** Made anew for each start: two holders never share one. */
  nonce: z.string().min(1),
  /** The last beat, in milliseconds since the epoch by the holder's clock. */
  at: z.number().min(0).max(momentMax),
})

/** Who holds a run, as the lock in the store names it. */
export type Holder = z.output<typeof holderSchema>
/** A holder that has not beaten yet. */
export type LockIdentity = Omit<Holder, 'at'>

/** This process, as the lock names it. */
export const thisHolder = (writer: string): LockIdentity => ({
  writer,
  host: hostname(),
  bootId: bootId(),
  pidSpace: pidSpace(),
  pid: process.pid,
  startTicks: lookAt(process.pid)?.startTicks,
  nonce: randomUUID(),
})

/** A process of this machine, and which of those that bore its number. */
export type ProcessMark = Pick<Holder, 'pid' | 'startTicks'>

/** Whether it is there, ours or another user's, is the same one still, and not about to end. */
export function isAlive({ pid, startTicks }: ProcessMark): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
  const found = lookAt(pid)
  if (!found) return true
  return !found.isEnding && (startTicks === undefined || startTicks === found.startTicks)
}

/** The kernel's PF_EXITING: what is left of the process runs no more of its program. */
const exitingFlag = 4

/**
 * A process that was killed keeps its number until its memory is given back and its parent has
 * asked for its exit code, which in a container may be never; there, too, the same few numbers are
 * given out at every start. Known on Linux only: elsewhere undefined.
 *
 * @source  proc_pid_stat(5): the fields follow the name, which ends with the last `)`
 */
function lookAt(pid: number): { readonly isEnding: boolean; startTicks: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, flags, startTicks] = [fields[0], Number(fields[6]), Number(fields[19])]
    const isEnding = state === 'Z' || state === 'X' || (flags & exitingFlag) !== 0
    return { isEnding, startTicks }
  } catch {
    return undefined
  }
}

/** Linux's own; elsewhere one that no other start shares, so that the lock is waited for. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return randomUUID()
  }
}

/** Known on Linux only. */
function pidSpace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return undefined
  }
}

export const encodeHolder = (holder: Holder): Buffer => Buffer.from(JSON.stringify(holder))

/** Undefined: they are no lock, or no whole one. */
export function parseHolder(bytes: Uint8Array): Holder | undefined {
  try {
    return holderSchema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8'))).data
  } catch {
    return undefined
  }
}

const unknown = 'unknown'

/**
 * Of a lock that a crash has left half: somebody, on some machine, who lives if he writes again.
 * Another content, or the same at another time, is another beat of another holder.
 */
export const unknownHolder = (bytes: Uint8Array, lastModified: number): Holder => ({
  writer: unknown,
  host: unknown,
  bootId: unknown,
  pid: 1,
  nonce: createHash('sha256').update(bytes).digest('hex'),
  at: lastModified,
})

export const describe = ({ writer, host, pid, at }: Holder): string =>
  `host=${host}, pid=${pid}, writer=${writer}, last beat=${new Date(at).toISOString()}`
