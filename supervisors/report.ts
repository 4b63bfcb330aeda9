import { count, skippedText } from '../actors/console/text.ts'
import type { RunStatus } from '../protocol/console.ts'
import { explain, type Failure } from '../src/failure.ts'
import { exitCodes } from './run-machine.ts'

export interface RunResult {
  readonly code: number
  /** Why it gave up, where it did. */
  readonly failure: Failure | null
  readonly status: RunStatus
}

/** Tells on stdout how a run has ended. */
export function printResult(result: RunResult, as: { readonly json: boolean }): void {
  process.stdout.write(`${resultText(result, as)}\n`)
}

/** What a run says when it has ended. */
export const resultText = (result: RunResult, { json }: { readonly json: boolean }): string =>
  json ? JSON.stringify(asJson(result)) : asText(result)

/** How it ended, and where: the same of whatever has run. */
export const ending = ({ code, failure, status }: RunResult) => ({
  code,
  state: status.state,
  reason: failure && explain(failure),
  remedy: failure?.remedy ?? null,
  run: status.run,
  store: status.store,
})

function asJson(result: RunResult) {
  const { reader, ledger } = result.status
  return {
    ...ending(result),
    rows: reader && {
      rows: reader.rows,
      examined: reader.examined,
      skipped: reader.skipped,
      repeated: reader.repeated,
      ...reader.outcome,
    },
    extracted: ledger?.spooled ?? null,
    stored: ledger?.stored ?? null,
    failed: ledger?.failed ?? [],
    spool: ledger?.spool ?? null,
  }
}

function asText({ code, failure, status }: RunResult): string {
  const { reader, ledger } = status
  const lines = [headline(code, status.store)]
  if (failure) lines.push(`Why: ${explain(failure)}. ${failure.remedy ?? ''}`)
  if (reader?.outcome) {
    const { committed, quarantined, failed } = reader.outcome
    const ends = [
      `${count(committed)} samples committed`,
      `${count(quarantined)} quarantined`,
      `${count(failed)} failed`,
      `${count(reader.repeated)} rows repeat another`,
      skippedText(reader.skipped),
    ]
    lines.push(`Of ${count(reader.rows)} rows: ${ends.join(', ')}.`)
  }
  if (ledger) {
    const { samples, tokens } = ledger.spooled
    lines.push(`Since this start: ${count(samples)} samples of ${count(tokens)} tokens extracted.`)
    for (const { hash, reason } of ledger.failed) lines.push(`failed ${hash}: ${reason}`)
  }
  return lines.join('\n')
}

function headline(code: number, store: string): string {
  if (code === exitCodes.done) return `Done: every sample is in ${store}`
  if (code === exitCodes.incomplete) return `Finished, but not whole: ${store}`
  if (code === exitCodes.refused) return 'Cannot go on; what is stored stays as it is.'
  if (code === exitCodes.held) return 'Stopped: another supervisor has taken the run over.'
  if (code === exitCodes.stopped || code > 128)
    return 'Stopped; `run` with the same configuration goes on.'
  return 'Gave up; what was stored is committed, the rest waits in the spool.'
}
