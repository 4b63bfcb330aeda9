import { availableParallelism } from 'node:os'
import { ledger } from '../actors/ledger/index.ts'
import { uploader } from '../actors/uploader/index.ts'
import type { SupervisorSpec } from '../protocol/child.ts'
import { ledgerRequests } from '../protocol/request-shares.ts'
import type { Config } from '../src/config/schema.ts'
import { backoff } from './backoff.ts'
import { extracting, type Filling } from './job.ts'
import type { Prepared } from './run/preflight.ts'
import { trainingIds } from './training-ids.ts'

/** What storage needs to know of a run. */
type Stored = Pick<Prepared, 'config' | 'place' | 'retry' | 'storeSums'>
/** And of what else uses the store: it drains first. */
interface Users {
  readonly filling: Pick<Filling, 'source' | 'writers'> | null
  readonly trains: boolean
}

/**
 *     storage (rest-for-one)
 *     ├── ledger                 owns what is spooled, the permits and the manifest's writing
 *     └── uploads (one-for-one)
 *         └── uploader/0 … K     ask the ledger for work
 *
 * A lost uploader costs nothing: the ledger hands its leases to another, the spool still holds the
 * files. A lost ledger is rebuilt from the spool and the manifest. Of its permits, those of the
 * uploaders are lost with it, so these end before a new one gives out its own; those of others are
 * counted on, until they come back.
 */
export const storage = (run: Stored, users: Users = extracting): SupervisorSpec => {
  const writers = users.filling?.writers(run) ?? []
  const uploads = uploadsOf(run, writers)
  const sources = users.filling ? [users.filling.source] : []
  const readers = users.trains ? trainingIds.ofStore : []
  const { config, place, retry } = run
  const { attempts, deadlineMinutes } = config.upload
  const { commit, spool, work } = config
  const input = { work, store: place, attempts, deadlineMinutes, commit, spool, retry }
  return {
    id: 'storage',
    strategy: 'rest-for-one',
    restarts,
    backoff,
    children: [
      ledger(
        { ...input, maxParallel: ledgerRequests(config.upload.maxParallel) },
        {
          drainsAfter: [...sources, ...uploads.children.map(({ id }) => id), ...readers],
          writers,
          holders: [...sources, ...readers],
        },
      ),
      uploads,
    ],
  }
}

/** For each child; more is the store failing: tell the one above. */
const restarts = { max: 5, withinMs: 60_000 }

const uploadsOf = (run: Stored, writers: readonly string[]): SupervisorSpec => {
  const { config, place, storeSums } = run
  const { attempts } = config.upload
  const share = { maxParallel: config.upload.maxParallel, threads: threadsOf(config.upload) }
  const input = { work: config.work, store: place, share, attempts, storeSums }
  return {
    id: 'uploads',
    strategy: 'one-for-one',
    restarts,
    backoff,
    children: Array.from({ length: share.threads }, (_, i) => uploader(i, input, writers)),
  }
}

/**
 * Uploaders. Where the configuration does not say: on a small machine a second one takes more
 * processor time than it saves, for it shares the cores with the ledger and the target (measured on
 * two cores: one thread sends 340 samples of 1.1 MB a second, two send 320).
 */
export const threadsOf = (
  { threads }: Pick<Config['upload'], 'threads'>,
  cores = availableParallelism(),
): number => threads ?? (cores < 4 ? 1 : 2)
