import type { SupervisorSpec } from '../protocol/child.ts'
import { backoff } from './backoff.ts'
import type { Job } from './job.ts'
import type { Prepared } from './run/preflight.ts'
import { storage } from './storage.ts'
import { training } from './training.ts'

/**
 * The whole tree, in the order it starts; work flows from the second to the first, for a stage asks
 * for what it does:
 *
 *     root (one-for-one)
 *     ├── storage      ledger, uploader/0 … K            finished samples → store and manifest
 *     ├── extraction   reader, extractor/0 … N           dataset rows → finished samples
 *     └── training     loader, trainer/0, checkpointer   stored samples → a drafter
 *
 * For `import`, the importer stands in the place of extraction. Without a section `train` there is
 * no training; `train` is training alone.
 * Beside it, on the main thread: the console, and the socket that `status` asks.
 * Above it: the launcher, which starts this process again when it is aborted.
 *
 * A stop drains it from the source, each once those before it hold nothing more (`drainsAfter`):
 *
 *     reader → extractor/* → uploader/* ──┐
 *     trainer/0 → checkpointer → loader ──┴→ ledger
 *
 * A supervisor that gives up is restarted here once, whole; at its second within five minutes the
 * run saves and exits 4.
 */
export const root = (run: Prepared, job: Job): SupervisorSpec => ({
  id: 'root',
  strategy: 'one-for-one',
  restarts: { max: 1, withinMs: 5 * 60_000 },
  backoff,
  children: [
    storage(run, job),
    ...(job.filling ? [job.filling.fill(run)] : []),
    ...(job.trains ? [training(run, job)] : []),
  ],
})
