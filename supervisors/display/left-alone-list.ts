import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { diskFailure } from '../../src/disk-failure.ts'
import { isFailure } from '../../src/failure.ts'

/** Where the files are named that an import left alone, with the reason: a JSON line each. */
export const leftAloneFile = (work: string): string => join(work, 'logs', 'import-left-alone.jsonl')

const lineSchema = z.object({ file: z.string(), reason: z.string(), facts: z.string() })
export type LeftAloneLine = z.output<typeof lineSchema>

/** What the list holds. A full disk may have kept it from being written, or written whole. */
export function readLeftAlone(path: string): LeftAloneLine[] {
  const lines = textOf(path).split('\n')
  return lines.flatMap((line) => {
    const parsed = lineSchema.safeParse(jsonOf(line))
    return parsed.success ? [parsed.data] : []
  })
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const what = 'the list of files left alone is not read'
    if (isFailure(diskFailure(error, { what, path }))) return ''
    throw error
  }
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
