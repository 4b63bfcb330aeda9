import { importer } from '../actors/importer/index.ts'
import type { SupervisorSpec } from '../protocol/child.ts'
import { captureNames } from '../src/models/hidden-states.ts'
import { sampleMetadata } from '../src/sample/encode.ts'
import { backoff } from './backoff.ts'
import { leftAloneFile } from './display/left-alone-list.ts'
import type { Job } from './job.ts'
import type { Prepared } from './run/preflight.ts'

/**
 *     import (one-for-one)
 *     └── importer      files made before → files in the spool
 *
 * It stands in the place of extraction. A lost importer costs nothing: what is spooled or committed
 * is told by its token ids, and not taken again.
 */
const importTree =
  (dir: string) =>
  (run: Prepared): SupervisorSpec => {
    const { config, identity, plan, target } = run
    const captures = captureNames(identity)
    const { dtype, hiddenSize: hidden } = identity
    const metadata = sampleMetadata(identity.target, captures)
    return {
      id: 'import',
      strategy: 'one-for-one',
      restarts: { max: 3, withinMs: 60_000 },
      backoff,
      children: [
        importer({
          dir,
          work: config.work,
          store: run.place,
          attempts: config.upload.attempts,
          dataset: config.dataset,
          limit: plan.limit,
          vocab: target.vocabSize,
          maxTokens: plan.maxTokens,
          format: { captures, hidden, dtype, metadata },
          keepFree: config.spool.keepFree,
          maxBytes: config.spool.maxBytes,
          leftAlone: leftAloneFile(config.work),
        }),
      ],
    }
  }

/** Of `import`. */
export const importing = (dir: string): Job => ({
  filling: {
    computes: false,
    fill: importTree(dir),
    source: 'importer',
    writers: () => ['importer'],
  },
  trains: false,
})
