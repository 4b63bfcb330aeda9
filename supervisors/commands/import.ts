import { existsSync, realpathSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { count } from '../../actors/console/text.ts'
import { loadConfig } from '../../src/config/load.ts'
import { Failure } from '../../src/failure.ts'
import { findFiles } from '../../src/sample/find.ts'
import { filesLeft, importing } from '../import.ts'
import { leftAloneFile, readLeftAlone } from '../left-alone-list.ts'
import { ending, type RunResult, resultText } from '../report.ts'
import { exitCodes } from '../run-machine.ts'
import { supervised } from '../supervised.ts'

/** Files that are named on stdout. */
const namedMax = 20

/** `import DIR CONFIG`: takes what was extracted before, where a row proves it. */
export async function importFiles(
  dir: string,
  path: string,
  { json }: { readonly json: boolean },
): Promise<number> {
  const { config, warnings } = loadConfig(path)
  const from = resolve(dir)
  await requireFiles(from, join(config.work, 'spool'))
  const result = await supervised(config, warnings, { job: importing(from) })
  const list = leftAloneFile(config.work)
  const text = json ? JSON.stringify(importJson(result, list)) : importText(result, list)
  process.stdout.write(`${text}\n`)
  return result.code
}

/** @throws  Failure `invalid`: no folder, nothing in it, or what the spool holds is in it */
async function requireFiles(dir: string, spool: string): Promise<void> {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Failure('invalid', `there is no folder to import. dir=${dir}`, {
      remedy: 'Name the folder that holds the files, or one above it.',
    })
  }
  if (isWithin(dir, spool) || isWithin(spool, dir)) {
    throw new Failure('invalid', `the run's own spool is in what is to import. dir=${dir}`, {
      remedy: 'Name a folder apart from the work folder: what is spooled is sent by any run.',
    })
  }
  if ((await findFiles(dir)).length > 0) return
  throw new Failure('invalid', `no safetensors file in the folder, nor below it. dir=${dir}`, {
    remedy: 'Name the folder that holds the files, or one above it.',
  })
}

function isWithin(dir: string, other: string): boolean {
  const real = (path: string) => (existsSync(path) ? realpathSync(path) : path)
  return !relative(real(other), real(dir)).startsWith('..')
}

function importJson(result: RunResult, list: string) {
  const { reader: source, ledger } = result.status
  return {
    ...ending(result),
    files: source && {
      files: source.rows,
      imported: source.batches.done,
      alreadyThere: source.found,
      leftAlone: filesLeft(source.skipped),
      ...source.outcome,
    },
    leftAlone: source?.outcome ? readLeftAlone(list) : [],
    stored: ledger?.stored ?? null,
    failed: ledger?.failed ?? [],
  }
}

function importText(result: RunResult, list: string): string {
  const { reader: source, ledger } = result.status
  if (!source?.outcome) return resultText(result, { json: false })
  const { failed } = source.outcome
  const left = filesLeft(source.skipped)
  const listed = readLeftAlone(list)
  const taken = `${count(source.batches.done)} imported, ${count(source.found)} already there`
  const ends = [
    `${count(left)} left alone`,
    ...(failed > 0 ? [`${count(failed)} refused by the store`] : []),
  ]
  const { code, store } = { ...result, ...result.status }
  const whole = code === exitCodes.done
  return [
    whole ? `Done: every file's sample is in ${store}` : `Finished, but not whole: ${store}`,
    `Of ${count(source.rows)} files: ${taken}, ${ends.join(', ')}. All stay where they are.`,
    ...listed
      .slice(0, namedMax)
      .map(({ file, reason, facts }) => `  ${file}: ${reason} (${facts})`),
    ...(listed.length < left ? [`  … not all could be listed in ${list}`] : []),
    ...(listed.length === left && left > namedMax ? [`  … all are named in ${list}`] : []),
    ...(ledger?.failed ?? []).map(({ hash, reason }) => `failed ${hash}: ${reason}`),
  ].join('\n')
}
