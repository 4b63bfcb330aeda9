import { existsSync, realpathSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { loadConfig } from '../../src/config/load.ts'
import { Failure } from '../../src/failure.ts'
import { findFiles } from '../../src/sample/find.ts'
import { importText } from '../display/import-report.ts'
import { leftAloneFile } from '../display/left-alone-list.ts'
import { importing } from '../import.ts'
import { supervised } from '../supervised.ts'

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
  const text = importText(result, { json, list: leftAloneFile(config.work) })
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
      remedy: 'Name a folder apart from the work folder: what is spooled is sent by its run.',
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
