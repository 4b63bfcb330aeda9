import { count } from '../../actors/console/numbers.ts'
import type { LedgerStatus } from '../../protocol/ledger.ts'
import { filesLeft, type ImporterStatus } from '../../protocol/source.ts'
import { printable } from '../../src/failure.ts'
import type { RunResult } from '../run/result.ts'
import { readLeftAlone } from './left-alone-list.ts'
import { ending, headlines, type Wording } from './report.ts'

/** What an import says when it has ended. */

/** Files that are named for people. */
const namedMax = 20

const ofImport: Wording = { whole: "every file's sample", again: 'an `import` of the same folder' }

interface ReportOptions {
  readonly json: boolean
  /** The file that names those that were left alone. */
  readonly list: string
}

export function importText(result: RunResult, { json, list }: ReportOptions): string {
  if (json) return JSON.stringify(asJson(result, list))
  const { source, ledger } = result.status
  const lines = headlines(result, ofImport)
  if (source?.of === 'files') {
    lines.push(filesText(source, ledger))
    if (source.outcome) lines.push(...leftAloneLines(source, list))
  }
  for (const { hash, reason } of ledger?.failed ?? []) lines.push(`failed ${hash}: ${reason}`)
  return lines.join('\n')
}

function asJson(result: RunResult, list: string) {
  const { source, ledger } = result.status
  const files = source?.of === 'files' ? source : null
  return {
    ...ending(result),
    files: files && {
      files: files.files,
      examined: files.examined,
      ...takenOf(files, ledger),
      leftAlone: filesLeft(files),
      ...files.outcome,
    },
    leftAlone: files?.outcome ? readLeftAlone(list) : [],
    stored: ledger?.stored ?? null,
    failed: ledger?.failed ?? [],
  }
}

function filesText(source: ImporterStatus, ledger: LedgerStatus | null): string {
  const { files, examined, inHand, outcome } = source
  const { imported, alreadyThere } = takenOf(source, ledger)
  const ends = [
    `${count(imported)} imported`,
    `${count(alreadyThere)} already there`,
    `${count(filesLeft(source))} left alone`,
    ...(inHand > 0 ? [`${count(inHand)} not taken yet`] : []),
  ].join(', ')
  const examinedText = outcome ? '' : ` ${count(examined)} were examined`
  const failed = outcome?.failed ?? 0
  const isNew = ledger !== null && ledger.spooled.samples + ledger.stored.samples > 0
  return [
    `Of ${count(files)} files${examinedText}: ${ends}. All stay where they are.`,
    ...(failed > 0 ? [`The store refused the samples of ${count(failed)}.`] : []),
    ...(isNew ? [] : ['No sample is new to the store.']),
  ].join(' ')
}

/**
 * An importer that was started again finds what the one before it took: the ledger, which counts
 * samples over all of them, knows better.
 */
function takenOf({ imported: since, found }: ImporterStatus, ledger: LedgerStatus | null) {
  const all = since + found
  const imported = Math.max(since, Math.min(all, ledger?.spooled.samples ?? 0))
  return { imported, alreadyThere: all - imported }
}

/** The first of them; what a full disk has kept off the list is told too. */
function leftAloneLines(source: ImporterStatus, list: string): string[] {
  const left = filesLeft(source)
  const listed = readLeftAlone(list)
  const named = listed.slice(0, namedMax).map(({ file, reason, facts }) => {
    // A file's name may hold whatever the system takes: here it is one line, and text.
    return printable(`  ${file}: ${reason} (${facts})`.replaceAll('\n', ' '))
  })
  if (listed.length < left) return [...named, `  … not all could be listed in ${list}`]
  return left > namedMax ? [...named, `  … all are named in ${list}`] : named
}
