/** A run in its middle, as its status tells it; tests change what they are about. */
import type { CheckpointerStatus } from '../../protocol/checkpointer.ts'
import type { ActorStatus, RunStatus, TrainingStatus } from '../../protocol/console.ts'
import type { LedgerStatus } from '../../protocol/ledger.ts'
import type { LoaderStatus } from '../../protocol/loader.ts'
import type { ImporterStatus, ReaderStatus } from '../../protocol/source.ts'
import type { TrainerStatus } from '../../protocol/trainer.ts'

export const readerStatus = (of: Partial<ReaderStatus> = {}): ReaderStatus => ({
  of: 'rows',
  rows: 1000,
  examined: 600,
  found: 200,
  rowsDone: 500,
  tokens: 10_000,
  tokensDone: 4000,
  repeated: 5,
  skipped: { empty: 3, 'too long': 1 },
  batches: { planned: 40, leased: 2, done: 17 },
  halved: [],
  outcome: null,
  ...of,
})

export const importerStatus = (of: Partial<ImporterStatus> = {}): ImporterStatus => ({
  of: 'files',
  files: 400,
  examined: 304,
  found: 50,
  imported: 247,
  inHand: 4,
  leftAlone: { 'it cannot be read': 1, 'no usable row has its token ids': 2 },
  outcome: null,
  ...of,
})

export const ledgerStatus = (of: Partial<LedgerStatus> = {}): LedgerStatus => ({
  committed: 400,
  quarantined: 1,
  failed: [],
  spooled: { samples: 250, bytes: 2_500_000, tokens: 2500 },
  stored: { samples: 125, bytes: 1_250_000, tokens: 1250 },
  spool: { files: 125, bytes: 1_250_000, full: null },
  granted: 0,
  toSend: 125,
  uploading: 30,
  permits: { open: 30, max: 100, inForce: 100, peak: 64 },
  uncommitted: 20,
  segments: 3,
  lastStoreSuccess: 1,
  gaveUp: null,
  ...of,
})

const measured = {
  step: 40,
  loss: 1.5,
  accuracy: 0.625,
  accuracyBySlot: [0.75, 0.5],
  acceptanceLength: 2.345,
}

export const loaderStatus: LoaderStatus = {
  ...{ training: 'training-1', samples: 360, isFollowing: false, plan: 3, away: null },
  ahead: { batches: 4, bytes: 8_400_000 },
  read: { spool: 0, cache: 0, store: 0 },
  leftOut: { samples: 0, latest: [] },
  cacheBytes: 0,
}

export const trainingStatus = ({
  trainer = {},
  checkpoints = {},
  loader = null,
}: {
  readonly trainer?: Partial<TrainerStatus>
  readonly checkpoints?: Partial<CheckpointerStatus>
  readonly loader?: TrainingStatus['loader']
} = {}): TrainingStatus => ({
  trainer: {
    training: 'training-1',
    state: 'computing',
    step: 50,
    steps: 200,
    batches: null,
    epoch: 1,
    epochs: 6,
    samples: 1200,
    tokens: 30_000,
    last: { ...measured, step: 50, lr: 6e-4, gradientNorm: 0.5 },
    heldOut: { ...measured, samples: 512 },
    tokensPerSecond: 1234.5,
    skipped: 0,
    device: 'cpu',
    outsideShare: 0.02,
    transferShare: 0,
    outcome: null,
    gaveUp: null,
    ...trainer,
  },
  checkpoints: {
    state: 'idle',
    last: {
      name: '00000040-writer',
      training: 'training-1',
      step: 40,
      heldOutLoss: 1.5,
      bytes: 2_500_000,
      savedAt: 60_000,
    },
    lastAgeMs: 60_000,
    lastError: null,
    failingSince: null,
    gaveUp: null,
    ...checkpoints,
  },
  loader,
})

export const runStatus = (of: Partial<RunStatus> = {}): RunStatus => ({
  run: 'run-1',
  state: 'running',
  pid: 42,
  store: 's3://bucket/run',
  work: '/work',
  startedAt: '2026-01-01T00:00:00.000Z',
  source: readerStatus(),
  ledger: ledgerStatus(),
  training: null,
  speed: {
    spooled: { samplesPerSecond: 12.34, tokensPerSecond: 12_345.6 },
    uploaded: { samplesPerSecond: 10, bytesPerSecond: 1_100_000 },
    etaSeconds: 3723,
  },
  actors: null,
  ...of,
})

export const actorStatus = (id: string, of: Partial<ActorStatus> = {}): ActorStatus => ({
  ...{
    id,
    state: 'running',
    since: 0,
    forMs: 3_723_000,
    restarts: 0,
    lastCause: null,
    work: '',
    busy: null,
  },
  ...{ heartbeatAgeMs: 10, pid: null, children: [] },
  ...of,
})

export const smallTree = actorStatus('root', {
  children: [
    actorStatus('storage', {
      children: [
        actorStatus('ledger', { work: 'serving' }),
        actorStatus('uploader/0', { restarts: 2, lastCause: 'killed', work: '3 of 50 lanes' }),
      ],
    }),
    actorStatus('extraction', {
      children: [
        actorStatus('extractor/0', {
          busy: { work: 'b000017: 8 rows', deadlineMs: 60_000 },
          work: 'x',
        }),
      ],
    }),
  ],
})
