import { resolve } from 'node:path'
import { statusText } from '../../actors/console/text.ts'
import { Failure } from '../../src/failure.ts'
import { askSupervisor } from '../run/workplace.ts'

/** `status`: what a running supervisor says of itself. */
export async function status(options: {
  readonly work: string
  readonly json: boolean
}): Promise<number> {
  const { error, status, text } = await askSupervisor(resolve(options.work), 'status')
  if (!status) throw new Failure('unavailable', error ?? text)
  const { columns = 100 } = process.stdout
  const told = options.json ? JSON.stringify(status) : statusText(status, columns)
  process.stdout.write(`${told}\n`)
  return 0
}
