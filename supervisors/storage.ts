import { ledger } from '../actors/ledger/index.ts'
import { uploader } from '../actors/uploader/index.ts'
import type { SupervisorSpec } from '../protocol/child.ts'
import type { Config } from '../src/config/schema.ts'
import { sampleRequestsMax } from '../src/store/permits.ts'
import { backoff } from './backoff.ts'
import { extractorIds } from './extraction.ts'
import type { Prepared } from './preflight.ts'

/**
 *     storage (rest-for-one)
 *     ├── ledger                 owns what is spooled, the permits and the manifest's writing
 *     └── uploads (one-for-one)
 *         └── uploader/0 … K     ask the ledger for work
 *
 * A lost uploader costs nothing: the ledger hands its leases to another, the spool still holds the
 * files. A lost ledger is rebuilt from the spool and the manifest. Its permits are lost with it, so
 * the requests that were opened with them end before a new one gives out its own.
 */
export const storage = (run: Prepared): SupervisorSpec => {
  const uploads = uploadsOf(run)
  const { config, place } = run
  const { attempts, deadlineMinutes } = config.upload
  const { commit, spool, work } = config
  const input = { work, store: place, attempts, deadlineMinutes, commit, spool }
  return {
    id: 'storage',
    strategy: 'rest-for-one',
    restarts,
    backoff,
    children: [
      ledger(
        { ...input, maxParallel: ledgerRequests(config) },
        uploads.children.map(({ id }) => id),
      ),
      uploads,
    ],
  }
}

/** For each child; more is the store failing: tell the one above. */
const restarts = { max: 5, withinMs: 60_000 }

const uploadsOf = (run: Prepared): SupervisorSpec => {
  const { config, place } = run
  const { attempts, threads } = config.upload
  const lanes = Math.ceil(sampleRequestsMax(ledgerRequests(config)) / threads)
  const input = { work: config.work, store: place, lanes, attempts }
  return {
    id: 'uploads',
    strategy: 'one-for-one',
    restarts,
    backoff,
    children: Array.from({ length: threads }, (_, i) => uploader(i, input, extractorIds(run))),
  }
}

/** The run's lock must beat while the ledger is away: one permit is never the ledger's to give. */
const ledgerRequests = ({ upload: { maxParallel } }: Config): number =>
  maxParallel > 1 ? maxParallel - 1 : maxParallel

/** False where there is but one permit for all: then the lock too waits for the ledger. */
export const lockHasPermit = (config: Config): boolean =>
  ledgerRequests(config) < config.upload.maxParallel
