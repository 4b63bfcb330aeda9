import { type LoadedConfig, loadConfig } from '../../src/config/load.ts'
import { printResult } from '../display/report.ts'
import { training } from '../job.ts'
import { callId } from '../launcher.ts'
import { supervised } from '../supervised.ts'
import { configFromStore, type ResumeOptions } from './resume.ts'

export interface TrainOptions extends ResumeOptions {
  /** A checkpoint to go on from, by its name below `checkpoints/`. */
  readonly from?: string
  /** Begin another training. */
  readonly new: boolean
}

/** `train CONFIG|STORE_URL`: a drafter from what is stored; goes on where it was. */
export async function train(of: string, options: TrainOptions): Promise<number> {
  const { config, warnings } = await configOf(of, options)
  const job = training({ from: options.from ?? null, anew: options.new, id: callId() })
  const result = await supervised(config, warnings, { job })
  // Told again, it would begin yet another training.
  const isBegun = (options.new || options.from !== undefined) && result.status.training !== null
  const begun = isBegun ? { again: 'the same command, without --new or --from,' } : {}
  printResult(result, { json: options.json, ...begun })
  return result.code
}

const configOf = async (of: string, options: TrainOptions): Promise<LoadedConfig> =>
  /^(s3|file):\/\//.test(of) ? await configFromStore(of, options) : loadConfig(of)
