import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Fault } from '../../../src/dev-s3/faults.ts'
import type { DevS3Stats } from '../../../src/dev-s3/server.ts'
import { Failure } from '../../../src/failure.ts'
import { devS3Main } from './program.ts'
import type { Scope } from './scope.ts'

/** The embedded S3 server as a process of its own: it outlives whatever is killed. */

/** What a client finds its keys in, and the server too. */
export const credentials = {
  AWS_ACCESS_KEY_ID: 'crash-key',
  AWS_SECRET_ACCESS_KEY: 'crash-secret',
}

export interface S3Process {
  readonly endpoint: string
  /** Takes the place of what faults are left. */
  setFaults(faults: readonly Fault[]): Promise<void>
  /** How often each fault that is left may still be used. */
  faultsLeft(): Promise<readonly number[]>
  stats(): Promise<DevS3Stats>
  /** Nobody listens any more: connections are refused. */
  leave(): Promise<void>
  comeBack(): Promise<void>
  /** From now on it knows this access key as well. */
  addKey(id: string, secret: string): Promise<void>
  /** As `stats`; from now on the peak is counted anew. */
  statsAnew(): Promise<DevS3Stats>
}

/** Bucket `draftsmith`; ends with the scope. @param keys  that it knows, and no others */
export async function startS3(
  scope: Scope,
  keys: Readonly<Record<string, string>> = credentials,
): Promise<S3Process> {
  const child = spawn(process.execPath, [devS3Main], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...keys },
  })
  const closed = once(child, 'close')
  // What it no longer reads is told by the answer that does not come.
  child.stdin.on('error', () => undefined)
  scope.after(async () => {
    child.stdin.end()
    child.kill()
    await closed
  })
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const answer = async (): Promise<unknown> => {
    const { done, value } = await answers.next()
    if (!done) return JSON.parse(value)
    throw new Failure('unavailable', `the drill's S3 server has ended. pid=${child.pid}`, {
      remedy: 'Hold the drill again: what ended the server is no part of it.',
    })
  }
  const opened = await answer()
  if (typeof opened !== 'object' || opened === null || !('endpoint' in opened)) {
    throw new Error('the S3 server did not start')
  }
  const ask = async (question: object): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(question)}\n`)
    return await answer()
  }
  return {
    endpoint: String(opened.endpoint),
    setFaults: async (faults) => void (await ask({ faults })),
    faultsLeft: async () => ((await ask({ left: true })) as { left: number[] }).left,
    statsAnew: async () => ((await ask({ anew: true })) as { stats: DevS3Stats }).stats,
    leave: async () => void (await ask({ away: true })),
    addKey: async (id, secret) => void (await ask({ secrets: { [id]: secret } })),
    comeBack: async () => void (await ask({ away: false })),
    stats: async () => ((await ask({ stats: true })) as { stats: DevS3Stats }).stats,
  }
}
