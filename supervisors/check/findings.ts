import { explain, isFailure } from '../../src/failure.ts'
import { fitted } from '../../src/fitted.ts'

/** What `check` finds: gathered one after the other, told as a table or as JSON. */

export interface Finding {
  readonly what: string
  /** `note`: a run can do without it; `remedy` says what that costs, or how to have it. */
  readonly state: 'ok' | 'note' | 'wrong'
  readonly found: string
  readonly remedy?: string
}

/** In words; what others go on with; where it is less than it might be, what that means. */
export type Seen<T> = readonly [found: string, value: T, note?: string]

/** Undefined where what was looked at is not in order: the Failure is a finding then. */
export type Look = <T>(what: string, work: () => Promise<Seen<T>>) => Promise<T | undefined>

export function lookingInto(findings: Finding[]): Look {
  return async (what, work) => {
    try {
      const [found, value, note] = await work()
      findings.push(
        note === undefined
          ? { what, state: 'ok', found }
          : { what, state: 'note', found, remedy: note },
      )
      return value
    } catch (error) {
      if (!isFailure(error)) throw error
      const remedy = error.remedy === undefined ? {} : { remedy: error.remedy }
      findings.push({ what, state: 'wrong', found: explain(error), ...remedy })
      return undefined
    }
  }
}

const marks = { ok: 'ok', note: 'note', wrong: 'WRONG' }
const markWidth = 7

/** @param columns  of the terminal, where there is one: lines are broken to fit */
export function findingsText(findings: readonly Finding[], columns: number | undefined): string {
  const whatWidth = Math.max(...findings.map(({ what }) => what.length)) + 2
  const indent = ' '.repeat(markWidth + whatWidth)
  const fit = (text: string) => fitted(text, columns ?? Number.POSITIVE_INFINITY, indent)
  const lines = findings.flatMap(({ what, state, found, remedy }) => [
    `${marks[state].padEnd(markWidth)}${what.padEnd(whatWidth)}${fit(found)}`,
    ...(remedy === undefined ? [] : [`${indent}${fit(remedy)}`]),
  ])
  const wrong = findings.filter(({ state }) => state === 'wrong').length
  const notes = findings.filter(({ state }) => state === 'note').length
  const noted = notes === 0 ? '' : `, ${notes} worth a look`
  lines.push(
    wrong === 0
      ? `Everything is in order${noted}.`
      : `${wrong} of ${findings.length} ${wrong === 1 ? 'is' : 'are'} not in order${noted}.`,
  )
  return lines.join('\n')
}
