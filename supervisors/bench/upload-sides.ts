import { fileURLToPath } from 'node:url'
import { inFreshProcess, runCommand } from './fresh.ts'
import { onPath } from './on-path.ts'
import { region, type Spent, spentOf, type UploadJob } from './upload-job.ts'
import type { Trust } from './upload-servers.ts'

/** Who is measured by `bench upload`. */

export interface UploadSide {
  readonly name: string
  /** What must be on the PATH; told where it is missing. */
  readonly needs: string | null
  readonly isThere: () => Promise<boolean>
  readonly run: (job: UploadJob, trust: Trust) => Promise<Spent>
}

export const ours = 'draftsmith'
export const bareWithChecksum = 'bare sockets, CRC-32'

const always = async () => true

const script = (name: string, entry: URL, ...more: readonly string[]): UploadSide => ({
  name,
  needs: null,
  isThere: always,
  run: async (job, { env }) =>
    spentOf(await inFreshProcess({ script: entry, args: [JSON.stringify(job), ...more], env })),
})

const boto3: UploadSide = {
  name: 'boto3 × 100 threads',
  needs: 'python3 with boto3',
  isThere: async () => {
    const asked = runCommand({ command: 'python3', args: ['-c', 'import boto3'] })
    return await asked.then(always, () => false)
  },
  run: async (job, { env }) => {
    const file = fileURLToPath(new URL('../../../scripts/bench/upload_boto3.py', import.meta.url))
    const args = [file, JSON.stringify(job)]
    const { stdout } = await runCommand({ command: 'python3', args, env })
    return spentOf(JSON.parse(stdout))
  },
}

const rclone: UploadSide = {
  name: 'rclone copy',
  needs: 'rclone',
  isThere: async () => onPath('rclone') !== undefined,
  run: async ({ endpoint, bucket, prefix, files, parallel }, { env, cert }) => {
    const provider = `provider=Other,env_auth=true,region=${region},force_path_style=true`
    const remote = `:s3,${provider},endpoint="${endpoint}":${bucket}/${prefix}`
    const trusted = cert === undefined ? [] : ['--ca-cert', cert]
    const many = ['--transfers', String(parallel), '--checkers', String(parallel)]
    // As fast as it goes: no look at what is there, at the bucket, or at what was put.
    const lean = ['--s3-no-check-bucket', '--s3-no-head', '--no-check-dest', '--no-traverse']
    const unsigned = ['--s3-use-unsigned-payload', 'true', '--s3-upload-cutoff', '200M']
    const args = ['copy', files, remote, ...many, ...lean, ...unsigned, ...trusted]
    return await timed({ command: 'rclone', args, env: { ...env, RCLONE_CONFIG: '/dev/null' } })
  },
}

const s5cmd: UploadSide = {
  name: 's5cmd cp',
  needs: 's5cmd',
  isThere: async () => onPath('s5cmd') !== undefined,
  run: async ({ endpoint, bucket, prefix, files, parallel }, { env }) => {
    const target = `s3://${bucket}/${prefix}`
    const many = ['--endpoint-url', endpoint, '--numworkers', String(parallel), '--log', 'error']
    const args = [...many, 'cp', '--concurrency', '1', `${files}/`, target]
    return await timed({ command: 's5cmd', args, env: { ...env, AWS_REGION: region } })
  },
}

/** In the order of the report: ours, what people use, the ceiling. */
export const uploadSides: readonly UploadSide[] = [
  script(ours, new URL('./upload-ours.js', import.meta.url)),
  script('AWS SDK, tuned', new URL('./upload-sdk.js', import.meta.url)),
  boto3,
  rclone,
  s5cmd,
  script('bare sockets', new URL('./upload-bare.js', import.meta.url)),
  script(bareWithChecksum, new URL('./upload-bare.js', import.meta.url), 'checksum'),
]

/**
 * A program from its start to its end: what cannot tell its own times starts in milliseconds. The
 * shell's `times` alone tells the processor time of a child that has ended.
 */
async function timed(program: {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}): Promise<Spent> {
  const { command, args, env } = program
  const shell = ['-c', '"$0" "$@"; code=$?; times; exit $code', command, ...args]
  const before = performance.now()
  const { stdout } = await runCommand({ command: 'sh', args: shell, env })
  const seconds = (performance.now() - before) / 1000
  return { seconds, cpuSeconds: childSeconds(stdout) }
}

/** The last line is the children's user and system time: `0m1.230s 0m0.450s`. */
function childSeconds(text: string): number {
  const line = text.trimEnd().split('\n').at(-1) ?? ''
  const found = [...line.matchAll(/(\d+)m([\d.,]+)s/g)]
  if (found.length !== 2) throw new Error(`the shell tells no times. found=${line}`)
  return found.reduce((sum, [, minutes, seconds]) => {
    return sum + Number(minutes) * 60 + Number(seconds.replace(',', '.'))
  }, 0)
}
