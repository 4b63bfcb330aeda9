import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '../../src/clock.ts'
import { type LoadedConfig, parseConfig } from '../../src/config/load.ts'
import { Failure } from '../../src/failure.ts'
import { fetchDataset } from '../../src/run/dataset-copy.ts'
import { readRun } from '../../src/run/stored-run.ts'
import { openStore } from '../../src/store/open.ts'
import { retrying } from '../../src/store/retry.ts'
import { requireFolder } from '../preflight.ts'
import { printResult } from '../report.ts'
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
  const result = await supervised(config, warnings)
  printResult(result, options)
  return result.code
}

async function configFromStore(url: string, options: ResumeOptions): Promise<LoadedConfig> {
  const given = {
    ...(options.endpoint !== undefined && { endpoint: options.endpoint }),
    ...(options.region !== undefined && { region: options.region }),
  }
  const store = retrying(openStore(url, given), {
    clock: systemClock,
    random: Math.random,
    attempts: 5,
  })
  const run = await readRun(store)
  const text = await store.get('config.yaml')
  if (!run || !text) {
    throw new Failure('invalid', `the store holds no run. store=${url}`, {
      remedy: 'Name the store as the configuration does: s3://bucket/prefix or file:///path.',
    })
  }
  const work = resolve(options.work)
  requireFolder(work)
  const { config, warnings } = parseConfig(text.toString('utf8'), {
    name: `${url}/config.yaml`,
    base: work,
  })
  const target = options.target ? resolve(options.target) : run.targetPath
  if (!existsSync(join(target, 'config.json'))) {
    throw new Failure('invalid', `the target is not there. path=${target}`, {
      remedy: 'Name its checkpoint directory with --target.',
    })
  }
  const path = await fetchDataset(store, join(work, 'dataset'), ({ path, bytes }) => {
    process.stderr.write(`fetched ${path} (${bytes} bytes)\n`)
  })
  return {
    warnings,
    config: {
      ...config,
      store: url,
      work,
      s3: { ...config.s3, ...given },
      dataset: { ...config.dataset, path, split: undefined },
      target: { ...config.target, path: target },
    },
  }
}
