import { loadConfig } from '../../src/config/load.ts'
import { printResult } from '../display/report.ts'
import { supervised } from '../supervised.ts'

/** `run CONFIG`: extraction and storage as configured; goes on where it was. */
export async function run(path: string, options: { readonly json: boolean }): Promise<number> {
  const { config, warnings } = loadConfig(path)
  const result = await supervised(config, warnings)
  printResult(result, options)
  return result.code
}
