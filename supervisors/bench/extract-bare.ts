import { join } from 'node:path'
import { padded } from '../../actors/extractor/extract.ts'
import { openPlanned } from '../../actors/reader/open.ts'
import type { Batch } from '../../protocol/sample.ts'
import { loadConfig } from '../../src/config/load.ts'
import { openLog } from '../../src/log.ts'
import { hiddenStatesGraph } from '../../src/models/hidden-states.ts'
import type { Feed } from '../../src/session/feed.ts'
import { prepareModel } from '../../src/session/prepare.ts'
import { openSession, type Session } from '../../src/session/session.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { extracting } from '../job.ts'
import { type Prepared, prepare } from '../run/preflight.ts'

/**
 * The bare side of `bench extract`, in a process of its own: the batches that `run` would compute
 * with this configuration, through onnxruntime and nowhere else. The argument is the configuration.
 */

const prepared = await prepare(loadConfig(process.argv[2]).config, extracting)
const session = await openWarm(prepared)
const batches = await plannedBatches(prepared)
const feeds = batches.map(feedOf)

const cpuBefore = process.cpuUsage()
const before = performance.now()
for (const feed of feeds) await session.run({ input_ids: feed })
const seconds = (performance.now() - before) / 1000
const { user, system } = process.cpuUsage(cpuBefore)

await session.release()
const tokens = batches.reduce((sum, batch) => sum + batch.tokenIds.length, 0)
const samples = batches.reduce((sum, batch) => sum + batch.rows.length, 0)
process.stdout.write(
  JSON.stringify({ seconds, cpuSeconds: (user + system) / 1e6, samples, tokens }),
)

function feedOf(batch: Batch): Feed {
  const { ids, rows, width } = padded(batch)
  return { dtype: 'I64', shape: [rows, width], data: ids }
}

/** The session that an extractor has before its first batch. */
async function openWarm({ config, identity, target, ...run }: Prepared): Promise<Session> {
  const graph = hiddenStatesGraph(target, identity)
  const model = await prepareModel(graph, join(config.work, 'bare-model'), () => undefined)
  const [device] = config.extract.devices
  const opened = await openSession(model, { device, threads: run.threadsPerDevice })
  await opened.run({ input_ids: { dtype: 'I64', shape: [1, 2], data: new BigInt64Array(2) } })
  return opened
}

/** What the reader of a new run hands out, in its order. */
async function plannedBatches({ config, target, ...run }: Prepared): Promise<Batch[]> {
  const opened = await openPlanned(
    {
      dataset: config.dataset,
      plan: run.plan,
      vocab: target.vocabSize,
      outputBytesPerToken: run.outputBytesPerToken,
      work: config.work,
      store: run.place,
      attempts: 1,
    },
    {
      store: new MemoryStore(),
      log: openLog({ actor: 'reader', level: 'warn', stderr: 'none' }),
    },
  )
  const planned = opened.batches(new Uint8Array(0))
  return Array.from({ length: planned.planned }, (_, index) => planned.first(index)).filter(
    (batch) => batch !== null,
  )
}
