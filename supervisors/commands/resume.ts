import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type LoadedConfig, parseConfig } from '../../src/config/load.ts'
import type { Config } from '../../src/config/schema.ts'
import { Failure } from '../../src/failure.ts'
import { openLog } from '../../src/log.ts'
import { type Run, requireSameIdentity } from '../../src/run/identity.ts'
import { configKey } from '../../src/run/stored-run.ts'
import { solePermits } from '../../src/store/patient.ts'
import { printResult } from '../display/report.ts'
import { jobOf } from '../job.ts'
import { fetchedDataset } from '../keeping/fetched-dataset.ts'
import { consoleTarget } from '../log-target.ts'
import { identityOf, requireFolder, targetOf } from '../run/preflight.ts'
import { s3Here, storeOfRun } from '../store-of-run.ts'
import { supervised } from '../supervised.ts'

export interface ResumeOptions {
  readonly work: string
  readonly target?: string
  readonly endpoint?: string
  readonly region?: string
  readonly json: boolean
}

/** `resume STORE_URL`: everything but the target comes from the store. */
export async function resume(url: string, options: ResumeOptions): Promise<number> {
  const { config, warnings } = await configFromStore(url, options)
  const result = await supervised(config, warnings, { job: jobOf(config) })
  printResult(result, options)
  return result.code
}

/**
 * A run's configuration from its store, with target and work folder as they are here; the dataset
 * is fetched.
 */
export async function configFromStore(url: string, options: ResumeOptions): Promise<LoadedConfig> {
  // Where the store was found now is where it is, wherever it was when the run began.
  const given = s3Here(options)
  const acquire = solePermits(100)
  const place = { url, s3: given }
  const { store, run, configText } = await storeOfRun(place, { actor: 'resume', acquire })
  if (!configText) throw withoutConfig(store.url)
  const work = resolve(options.work)
  const target = options.target ? resolve(options.target) : run.targetPath
  const { config: stored, warnings } = parseConfig(configText, {
    name: `${url}/${configKey}`,
    base: work,
  })
  const config: Config = {
    ...stored,
    store: url,
    work,
    s3: { ...stored.s3, ...given },
    target: { ...stored.target, path: target },
  }
  await requireTarget(run, config)
  requireFolder(work)
  const log = openLog({ ...consoleTarget, actor: 'resume' })
  const path = await fetchedDataset(store, join(work, 'dataset'), log)
  return { warnings, config: { ...config, dataset: { ...config.dataset, path, split: undefined } } }
}

const withoutConfig = (store: string): Failure =>
  new Failure('invalid', `the store holds no ${configKey}. store=${store}`, {
    remedy: 'Run once more where it began: it puts there what is missing.',
  })

/** Before the dataset is fetched, which may take long: the target is there, and is the run's. */
async function requireTarget(run: Run, config: Config): Promise<void> {
  const { path } = config.target
  if (!existsSync(join(path, 'config.json'))) {
    throw new Failure('invalid', `the target is not there. path=${path}`, {
      remedy: 'Name its checkpoint directory with --target.',
    })
  }
  requireSameIdentity(run, await identityOf(config, await targetOf(config)), config.store)
}
