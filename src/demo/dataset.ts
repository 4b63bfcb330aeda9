/** The demo's tokenized dataset, made on the spot: no download, no large file in the repository. */
import { seededRandom } from '../clock.ts'
import { type DatasetRow, type WrittenDataset, writeDataset } from '../dataset/write.ts'
import { conversations, type Exchange } from './conversations.ts'

export const demoRows = 400
/** Token ids are the text's UTF-8 bytes, and above them these; the vocabulary's rest is spare. */
const marks = { start: 256, user: 257, assistant: 258, end: 259 } as const
export const demoVocab = 512

const seed = 1

/** Writes the same bytes every time: 400 rows of 30 to 450 tokens in two shards. */
export const writeDemoDataset = (dir: string): Promise<WrittenDataset> =>
  writeDataset(dir, {
    rows: demoDataset(),
    count: demoRows,
    shards: 2,
    rowsPerBatch: 100,
    description: "Draftsmith's demo: small questions and answers, one token a byte",
  })

function* demoDataset(): Generator<DatasetRow, void> {
  const drawn = conversations(seededRandom(seed))
  for (let row = 0; row < demoRows; row++) yield tokenize(drawn.next().value)
}

/** The mask is 1 on the assistant's words and on the mark that ends them. */
function tokenize(exchanges: readonly Exchange[]): DatasetRow {
  const ids: number[] = [marks.start]
  const mask: number[] = [0]
  const add = (tokens: Iterable<number>, supervised: 0 | 1): void => {
    for (const token of tokens) {
      ids.push(token)
      mask.push(supervised)
    }
  }
  for (const { question, answer } of exchanges) {
    add([marks.user, ...Buffer.from(question), marks.end, marks.assistant], 0)
    add([...Buffer.from(answer), marks.end], 1)
  }
  return { inputIds: Int32Array.from(ids), lossMask: Uint8Array.from(mask) }
}
