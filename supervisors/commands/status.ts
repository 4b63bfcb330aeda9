import { resolve } from 'node:path'
import { askSupervisor } from '../run/workplace.ts'

/** `status`: what a running supervisor says of itself. */
export async function status(options: {
  readonly work: string
  readonly json: boolean
}): Promise<number> {
  const answer = await askSupervisor(resolve(options.work), 'status')
  const { status, text } = answer as { status?: unknown; text?: string }
  process.stdout.write(`${options.json ? JSON.stringify(status ?? null) : text}\n`)
  return 0
}
