import { count } from '../../actors/console/numbers.ts'
import { formatBytes } from '../../src/config/sizes.ts'
import { entryKey, type ManifestEntry } from '../../src/manifest/entry.ts'
import { crcText } from '../../src/manifest/key.ts'
import type { BatchFacts } from '../keeping/local-sample.ts'
import type { Explained } from './explain.ts'

/** What people read of a sample's fate. */

const rowsShown = 10

export function explainText(found: Explained): string {
  const { batch } = found.local ?? { batch: null }
  return [
    `${whoText(found)}: ${found.state}`,
    ...whyLines(found),
    ...(batch ? [batchLine(batch)] : []),
    ...historyLines(found),
  ].join('\n')
}

function whoText({ hash, row, rows }: Explained): string {
  const others = rows.filter((other) => other !== row)
  const shown = others.slice(0, rowsShown).join(', ')
  const more = others.length > rowsShown ? ` and ${count(others.length - rowsShown)} more` : ''
  const same = others.length > 0 ? ` (${row === null ? 'rows' : 'and rows'} ${shown}${more})` : ''
  return `${row === null ? 'sample' : `row ${row}`}${hash === null ? '' : ` ${hash}`}${same}`
}

function whyLines({ entry, hash, local, object, skipped, state }: Explained): string[] {
  switch (state) {
    case 'stored':
      return entry ? objectLines(entry, object) : []
    case 'quarantined':
      return [`  it could not be computed: ${entry?.reason}`, '  `retry-quarantined` tries again']
    case 'lost':
      return [`  ${entry?.reason}`, '  the next run extracts it again']
    case 'failed':
      return [`  the store would not take it: ${local?.failed}`, '  the next run sends it again']
    case 'spooled':
      return [`  it waits for the store: ${local?.spooled?.path}`]
    case 'skipped':
      return [`  it is no use as data: ${skipped}`]
    case 'waiting':
      return hash === null
        ? ['  what it holds is not known here yet; with --config its row is read']
        : ['  no manifest line names it: it is still to be extracted']
    case 'unknown':
      return ['  neither the manifest nor the rows hashed so far know of it']
  }
}

function objectLines(entry: ManifestEntry, object: Explained['object']): string[] {
  const is = `${formatBytes(entry.length)}, ${count(entry.tokens)} tokens`
  const lines = [`  ${entryKey(entry)}: ${is}, crc32 ${crcText(entry.crc32)}`]
  if (!object) return [...lines, '  the object is not there; `verify --repair` marks it as lost']
  const told = object.crc32 === undefined ? '' : `, crc32 ${crcText(object.crc32)}`
  const since = new Date(object.lastModified).toISOString()
  return [...lines, `  the store has it since ${since}: ${formatBytes(object.size)}${told}`]
}

function batchLine({ halved, holder, id, isSuspect }: BatchFacts): string {
  const facts = [
    holder === null ? '' : `held by ${holder}`,
    isSuspect ? 'it was held at a death' : '',
    halved.length > 0 ? `run as halves: ${halved.join(', ')}` : '',
  ].filter((fact) => fact !== '')
  return `  batch ${id}${facts.length > 0 ? `: ${facts.join('; ')}` : ''}`
}

function historyLines({ history }: Explained): string[] {
  if (history.length === 0) return []
  const lines = history.map(({ at, entry, file }) => {
    const what = entry.status === 'stored' ? entryKey(entry) : entry.reason
    const said = `${entry.status}, attempt ${entry.attempt}: ${what}`
    return `  ${new Date(at).toISOString()} ${said}, in ${file}`
  })
  return ['history', ...lines]
}
