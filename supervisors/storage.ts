import { ledger } from '../actors/ledger/index.ts'
import { uploader } from '../actors/uploader/index.ts'
import type { SupervisorSpec } from '../protocol/child.ts'
import { sampleRequestsMax } from '../src/store/permits.ts'
import { backoff } from './backoff.ts'
import { extractorIds } from './extraction.ts'
import type { Prepared } from './preflight.ts'

/**
 *     storage (one-for-one)
 *     ├── ledger             owns what is spooled, the permits and the manifest's writing
 *     └── uploader/0 … K     ask the ledger for work
 *
 * A lost uploader costs nothing: the ledger hands its leases to another, the spool still holds the
 * files. A lost ledger is rebuilt from the spool and the manifest.
 */
export const storage = (run: Prepared): SupervisorSpec => {
  const { config, place } = run
  const { attempts, deadlineMinutes, maxParallel, threads } = config.upload
  const uploaders = Array.from({ length: threads }, (_, i) =>
    uploader(
      i,
      {
        work: config.work,
        store: place,
        lanes: Math.ceil(sampleRequestsMax(maxParallel) / threads),
        attempts,
      },
      extractorIds(run),
    ),
  )
  return {
    id: 'storage',
    strategy: 'one-for-one',
    // For each child; more is the store failing: tell the root.
    restarts: { max: 5, withinMs: 60_000 },
    backoff,
    children: [
      ledger(
        {
          work: config.work,
          store: place,
          attempts,
          maxParallel,
          deadlineMinutes,
          commit: config.commit,
          spool: config.spool,
        },
        uploaders.map(({ id }) => id),
      ),
      ...uploaders,
    ],
  }
}
