import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { draftsmithMain } from '../../../supervisors/drills/rig/program.ts'

/** `draftsmith ARGS` as a shell runs it: a process of its own, waited for. */

/** Against hangs: most of these take some seconds on a quiet machine. */
const usualEndMs = 90_000

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Where it runs; nothing of the caller's own AWS settings reaches it. */
export interface Surroundings {
  readonly dir: string
  readonly env?: Readonly<Record<string, string>>
  /** Of one that takes minutes: after so long it hangs. */
  readonly endMs?: number
}

export function draftsmith(args: readonly string[], at: Surroundings): Promise<Ended> {
  const options = {
    cwd: at.dir,
    env: { ...plainEnv(at.dir), ...at.env },
    timeout: at.endMs ?? usualEndMs,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 2 ** 20,
  } as const
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [draftsmithMain, ...args],
      options,
      (_, stdout, stderr) => {
        const ended = { code: child.exitCode, stdout, stderr }
        if (!child.killed) resolve(ended)
        else
          reject(new Error(`no end. args=${args.join(' ')}, stderr ends:\n${stderr.slice(-2000)}`))
      },
    )
  })
}

/** Ours, less what says where credentials are, and less what Node's test runner tells its files. */
function plainEnv(home: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(AWS_|NODE_OPTIONS$|NODE_TEST_CONTEXT$)/.test(name),
  )
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    // Nobody there: the chain of credentials ends at once, on any network.
    AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:1',
  }
}

/** Whatever else may print, a terminal's control characters and a stack trace may not. */
export function assertReadable({ stdout, stderr }: Ended): void {
  for (const text of [stdout, stderr]) {
    const control = [...text].find((char) => char !== '\n' && (char < ' ' || char === '\x7f'))
    assert.equal(control, undefined, JSON.stringify(text))
    assert.doesNotMatch(text, /\n\s+at .+:\d+:\d+|Node\.js v\d/)
  }
}

/**
 * It ended with this code and said all of this on stderr; on stdout nothing, or with --json one
 * document that says the same.
 */
export function assertRefused(
  ended: Ended,
  { code = 2, says }: { readonly code?: number; readonly says: readonly RegExp[] },
): void {
  assert.equal(ended.code, code, ended.stderr)
  if (ended.stdout !== '') assert.equal(JSON.parse(ended.stdout).code, code)
  for (const pattern of says) assert.match(ended.stderr, pattern)
  assertReadable(ended)
}
