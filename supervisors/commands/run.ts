import { loadConfig } from '../../src/config/load.ts'
import { printResult } from '../display/report.ts'
import { jobOf } from '../job.ts'
import { supervised } from '../supervised.ts'

/** `run CONFIG`: extraction, storage and training as configured; goes on where it was. */
export async function run(path: string, options: { readonly json: boolean }): Promise<number> {
  const { config, warnings } = loadConfig(path)
  const result = await supervised(config, warnings, { job: jobOf(config) })
  printResult(result, options)
  return result.code
}
