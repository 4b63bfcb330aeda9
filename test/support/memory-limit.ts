import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../../src/clock.ts'
import { kill } from '../../supervisors/drills/rig/process.ts'
import type { Scope } from '../../supervisors/drills/rig/scope.ts'

/** A process that takes more memory than it may, and is ended for it. */

/** Where either version of control groups keeps a group, and what its limit is called there. */
const places = [
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes' },
  { root: '/sys/fs/cgroup', limit: 'memory.max' },
] as const

const lookMs = 5

/**
 * From now on the kernel kills the process where it takes more. Where this user may set no limit,
 * this does what the kernel would.
 *
 * @param bytes  of resident memory
 */
export function limitMemory(scope: Scope, pid: number, bytes: number): void {
  const group = `draftsmith-${process.pid}-${pid}`
  const place = places.find((one) => isLimited({ ...one, group, pid, bytes }))
  if (place) scope.after(() => removeGroup(join(place.root, group)))
  void killAbove(pid, place ? 4 * bytes : bytes)
}

interface Limit {
  readonly root: string
  readonly limit: string
  readonly group: string
  readonly pid: number
  readonly bytes: number
}

function isLimited({ root, limit, group, pid, bytes }: Limit): boolean {
  const dir = join(root, group)
  try {
    mkdirSync(dir)
    writeFileSync(join(dir, limit), String(bytes))
    writeFileSync(join(dir, 'cgroup.procs'), String(pid))
    return true
  } catch {
    removeGroup(dir)
    return false
  }
}

function removeGroup(dir: string): void {
  try {
    rmdirSync(dir)
  } catch {
    return
  }
}

/** Where a limit is set it may count what is swapped out otherwise: then this ends it too. */
async function killAbove(pid: number, bytes: number): Promise<void> {
  for (;;) {
    const resident = residentBytes(pid)
    if (resident === undefined) return
    if (resident > bytes) kill(pid)
    await sleep(lookMs)
  }
}

/** Undefined where it is no more. */
function residentBytes(pid: number): number | undefined {
  try {
    const [, kilobytes] =
      /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  } catch {
    return undefined
  }
}
