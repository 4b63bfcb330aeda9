import type { ActorStatus, RunStatus, TrainingStatus } from '../../protocol/console.ts'
import type { LedgerStatus } from '../../protocol/ledger.ts'
import { filesLeft, type SourceStatus } from '../../protocol/source.ts'
import { formatBytes } from '../../src/config/sizes.ts'
import { count, many } from './numbers.ts'
import { stepText } from './training-text.ts'

/** What waits before an actor, and what it has handed on, as far as its contract tells. */
export interface Queues {
  readonly in: string
  readonly out: string
}

const none: Queues = { in: '', out: '' }

/** Of actors of one kind, that ask for work at one place, all have the same queue before them. */
export function queuesOf({ id, work }: Pick<ActorStatus, 'id' | 'work'>, of: RunStatus): Queues {
  const { ledger, source, training } = of
  switch (id.split('/')[0]) {
    case 'reader':
    case 'importer':
      return source ? sourceQueues(source) : none
    case 'extractor':
      return extractorQueues(source, ledger)
    case 'ledger':
      return ledger ? ledgerQueues(ledger) : none
    case 'uploader':
      return { in: ledger ? waitingText(ledger) : '', out: work }
    default:
      return training ? trainingQueues(id, training) : none
  }
}

function sourceQueues(source: SourceStatus): Queues {
  if (source.of === 'files') {
    const { examined, files, inHand } = source
    const out = `${count(inHand)} in hand, ${count(filesLeft(source))} left alone`
    return { in: many(files - examined, 'file'), out }
  }
  const { batches, examined, rows } = source
  return {
    in: many(rows - examined, 'row'),
    out: `${many(batches.leased, 'batch', 'batches')} given out`,
  }
}

function extractorQueues(source: SourceStatus | null, ledger: LedgerStatus | null): Queues {
  return {
    // Not in batches: of those that are planned, some need not be computed.
    in: source?.of === 'rows' ? many(source.rows - source.rowsDone, 'row') : '',
    out: ledger ? `${many(ledger.spool.files, 'file')} in spool` : '',
  }
}

/** What no uploader has yet. */
const waitingText = ({ toSend, uploading }: LedgerStatus): string =>
  `${count(Math.max(0, toSend - uploading))} to send`

function ledgerQueues(ledger: LedgerStatus): Queues {
  const { spool, uncommitted, uploading } = ledger
  return {
    in: `${waitingText(ledger)}${spool.full === null ? '' : ', full'}`,
    out: `${count(uploading)} sending, ${count(uncommitted)} to commit`,
  }
}

function trainingQueues(id: string, { checkpoints, loader, trainer }: TrainingStatus): Queues {
  const ahead = loader && many(loader.ahead.batches, 'batch', 'batches')
  if (id === 'loader') {
    if (!loader) return none
    const bytes = formatBytes(loader.ahead.bytes)
    return { in: many(loader.samples, 'sample'), out: `${ahead} ahead, ${bytes}` }
  }
  if (id.startsWith('trainer/')) return { in: ahead ?? '', out: `step ${stepText(trainer)}` }
  if (id !== 'checkpointer') return none
  const { last } = checkpoints
  const unsaved = Math.max(0, trainer.step - (last?.step ?? 0))
  return {
    in: `${many(unsaved, 'step')} unsaved`,
    out: last ? `step ${count(last.step)} saved` : 'none saved',
  }
}
