import type { RunStatus } from '../../protocol/console.ts'
import { fitted } from '../../src/fitted.ts'
import { headLines } from './text.ts'
import { treeText } from './tree-text.ts'

/** A picture of the run, for who watches it: how far, how fast, and who is at what. */
export function topText(status: RunStatus, columns: number): string {
  const head = headLines(status).map((line) => fitted(line, columns, '    '))
  return [...head, '', treeText(status, columns)].join('\n')
}
