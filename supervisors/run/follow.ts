import { z } from 'zod'
import { sleep } from '../../src/clock.ts'
import { hasCode } from '../../src/failure.ts'
import { LogTail } from './log-tail.ts'

/** An actor's lines of the log. */

const lookBackBytes = 4 << 20
const lastLines = 20
const lookMs = 200

const lineSchema = z.looseObject({ actor: z.string(), child: z.string().optional() })

/** Those that it wrote, and those that its supervisor wrote of it. */
function isOf(actor: string, line: string): boolean {
  try {
    const { data } = lineSchema.safeParse(JSON.parse(line))
    return data !== undefined && (data.actor === actor || data.child === actor)
  } catch {
    return false
  }
}

/** Tells its last lines, and then each that is written, until the signal. */
export async function followLog(
  file: string,
  actor: string,
  { told, signal }: { readonly told: (line: string) => void; readonly signal: AbortSignal },
): Promise<void> {
  const tail = new LogTail(file, lookBackBytes)
  try {
    const before = tail.read().filter((line) => isOf(actor, line))
    for (const line of before.slice(-lastLines)) told(line)
    while (!signal.aborted) {
      await sleep(lookMs, undefined, signal).catch(() => undefined)
      for (const line of tail.read()) if (isOf(actor, line)) told(line)
    }
  } catch (error) {
    // A log that cannot be read any more has no lines.
    if (!hasCode(error, 'EIO', 'ENOENT')) throw error
  } finally {
    tail.close()
  }
}
