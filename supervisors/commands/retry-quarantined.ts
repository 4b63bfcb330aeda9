import { loadConfig } from '../../src/config/load.ts'
import { printResult } from '../display/report.ts'
import { forgetRetries } from '../run/retries.ts'
import { supervised } from '../supervised.ts'

/** `retry-quarantined CONFIG`: a run that also computes again what could not be computed before. */
export async function retryQuarantined(
  path: string,
  options: { readonly json: boolean },
): Promise<number> {
  const { config, warnings } = loadConfig(path)
  const result = await supervised(config, warnings, { retriesQuarantined: true })
  forgetRetries(config.work)
  printResult(result, options)
  return result.code
}
