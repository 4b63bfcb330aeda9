import { openPlanned } from '../../actors/reader/open.ts'
import { seededRandom } from '../../src/clock.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import { openLog } from '../../src/log.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { spreadOf } from './report.ts'

/**
 * One start of a reader, in a process of its own: arguments are dataset, work folder, vocabulary.
 */

const firstLineMs = performance.now()
const [path, work, vocab] = process.argv.slice(2)

const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
/** What a token of Qwen3-8B becomes: five layers of 4,096 values, 2 bytes each. */
const outputBytesPerToken = 5 * 4096 * 2

const planned = await openPlanned(
  {
    dataset: { path, columns },
    plan: {
      tokenBudget: 16_384,
      maxTokens: 8192,
      outputBytesMax: 2 * 2 ** 30,
      limit: null,
      seed: 0,
    },
    vocab: Number(vocab),
    outputBytesPerToken,
    work,
    store: { url: 'memory', s3: {} },
    attempts: 1,
  },
  {
    store: new MemoryStore(),
    log: openLog({ actor: 'reader', level: 'warn', stderr: 'none' }),
  },
)
const batches = planned.batches(new Uint8Array(0))
const first = batches.first(0)
const readMs = performance.now()
// On every system in kibibytes, says libuv.
const peakBytes = process.resourceUsage().maxRSS * 1024

const answer = {
  rows: planned.rows,
  tokens: planned.tokens,
  batches: batches.planned,
  firstBatchRows: first?.rows.length ?? 0,
  // The clock of `performance` starts with the process.
  processSeconds: readMs / 1000,
  codeSeconds: (readMs - firstLineMs) / 1000,
  peakBytes,
  rowMicroseconds: randomRowMicroseconds(),
}
process.stdout.write(JSON.stringify(answer))

/** The median over many rows, each in a record batch that another row was read of before. */
function randomRowMicroseconds(): number {
  const rowsPerBatch = 1000
  const dataset = openDataset(path, { columns })
  const random = seededRandom(1)
  const below = (end: number) => Math.floor(random() * end)
  const times: number[] = []
  for (let opened = 0; opened < 20; opened++) {
    const start = below(Math.ceil(dataset.rows / rowsPerBatch)) * rowsPerBatch
    const rows = Math.min(rowsPerBatch, dataset.rows - start)
    dataset.read(start)
    for (let read = 0; read < 500; read++) {
      const row = start + below(rows)
      const before = performance.now()
      dataset.read(row)
      times.push((performance.now() - before) * 1000)
    }
  }
  return spreadOf(times).median
}
