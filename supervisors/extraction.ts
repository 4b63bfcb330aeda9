import { extractor } from '../actors/extractor/index.ts'
import { reader } from '../actors/reader/index.ts'
import type { SupervisorSpec } from '../protocol/child.ts'
import { systemDiskUse } from '../src/disk.ts'
import { backoff } from './backoff.ts'
import type { Prepared } from './run/preflight.ts'

/**
 *     extraction (one-for-one)
 *     ├── reader             plans batches, hands them out, knows the end
 *     └── extractor/0 … N    one for each device; ask the reader for work
 *
 * A lost extractor costs its batch, which the reader hands to the next that asks. A lost reader
 * costs nothing: what is spooled or committed is no work any more, and what is being computed has a
 * claim, which the next reader sees.
 */
export const extraction = (run: Prepared, use = systemDiskUse): SupervisorSpec => ({
  id: 'extraction',
  strategy: 'one-for-one',
  restarts: { max: 3, withinMs: 60_000 },
  backoff,
  children: [
    reader({
      dataset: run.config.dataset,
      plan: run.plan,
      vocab: run.target.vocabSize,
      outputBytesPerToken: run.outputBytesPerToken,
      work: run.config.work,
      store: run.place,
      attempts: run.config.upload.attempts,
    }),
    ...extractorIds(run).map((_, index) =>
      extractor(
        index,
        {
          device: run.config.extract.devices[index],
          threads: run.threadsPerDevice,
          target: {
            path: run.config.target.path,
            captureFinal: run.identity.captureFinal,
            layers: run.identity.layers,
            fingerprint: run.identity.target,
            stamp: run.targetStamp,
          },
          dtype: run.identity.dtype,
          work: run.config.work,
          keepFree: run.config.spool.keepFree,
        },
        { isolation: run.config.extract.isolation, use },
      ),
    ),
  ],
})

export const extractorIds = (run: Pick<Prepared, 'config'>): string[] =>
  run.config.extract.devices.map((_, index) => `extractor/${index}`)
