/** A drafter as a checkpoint of its training holds it. */
import type { Half, WholeCheckpoint } from '../checkpoint/list.ts'
import { fileKey } from '../checkpoint/names.ts'
import { type ReadTensor, readTensors, twice } from '../checkpoint/read-tensors.ts'
import { newestFirst, type OnHalf } from '../checkpoint/restore.ts'
import { explain, Failure, isFailure } from '../failure.ts'
import { parseDataState } from '../feed/data-state.ts'
import type { Split } from '../feed/split.ts'
import { type DraftVocab, draftVocabOf } from '../models/draft-vocab.ts'
import { parseDrafterConfig } from '../models/drafter-config.ts'
import type { ObjectStore } from '../store/store.ts'
import { elements } from '../tensor/tensor.ts'
import type { DrafterToExport } from './zlab.ts'

export interface CheckpointToExport {
  readonly checkpoint: WholeCheckpoint
  readonly drafter: Omit<DrafterToExport, 'head'>
  /** Null: nothing was held out, or that cannot be read. */
  readonly split: Split | null
}

/** Named in a message; the rest is counted. */
const namedMax = 5

/**
 * Reads the drafter of the newest complete checkpoint of the training that was saved last; or, of a
 * step, the one that was saved last. Half ones are told and passed over.
 *
 * @param of.step  null: the newest
 * @throws         Failure `invalid`: there is no complete one, or none of this step
 */
export async function checkpointToExport(
  store: ObjectStore,
  of: { readonly step: number | null; readonly onHalf: OnHalf },
): Promise<CheckpointToExport> {
  const halves: Half[] = []
  const onHalf = (half: Half) => {
    halves.push(half)
    of.onHalf(half)
  }
  const all: WholeCheckpoint[] = []
  for await (const found of newestFirst(store, { onHalf })) all.push(found)
  for (const checkpoint of candidates(all, of.step)) {
    try {
      return await read(store, checkpoint)
    } catch (error) {
      if (!isFailure(error, 'corrupt')) throw error
      onHalf({ name: checkpoint.name, why: explain(error) })
    }
  }
  throw noneComplete(store, { ...of, all, halves })
}

/** The best first: of one training alone, so that none of another is taken for want of it. */
function candidates(all: readonly WholeCheckpoint[], step: number | null): WholeCheckpoint[] {
  const asked = all.filter((one) => step === null || one.step === step)
  const [latest] = [...asked].sort((a, b) => (a.state.savedAt < b.state.savedAt ? 1 : -1))
  return asked.filter(({ state }) => state.training === latest?.state.training)
}

async function read(store: ObjectStore, checkpoint: WholeCheckpoint): Promise<CheckpointToExport> {
  const { name, state } = checkpoint
  const key = fileKey(name, 'model')
  const tensors = await twice(() => readTensors(store, key, state.files.model))
  const maps = tensors.filter((tensor) => isMap(tensor))
  const config = parseDrafterConfig(state.drafter, fileKey(name, 'state'))
  const drafter = {
    config,
    tensors: tensors
      .filter((tensor) => !isMap(tensor))
      .map((tensor) => ({
        name: tensor.name,
        shape: tensor.shape,
        values: elements(tensor, 'F32'),
      })),
    draftVocab: vocabIn(maps),
    from: name,
  }
  return { checkpoint, drafter, split: splitOf(state.data) }
}

const isMap = ({ name }: ReadTensor): boolean => name === 'd2t' || name === 't2d'

function vocabIn(maps: readonly ReadTensor[]): DraftVocab | null {
  const [d2t, t2d] = ['d2t', 't2d'].map((name) => maps.find((tensor) => tensor.name === name))
  return d2t && t2d ? draftVocabOf(elements(d2t, 'I64'), elements(t2d, 'BOOL')) : null
}

function splitOf(data: unknown): Split | null {
  try {
    return parseDataState(data).log.split
  } catch (error) {
    if (isFailure(error)) return null
    throw error
  }
}

function noneComplete(
  store: ObjectStore,
  of: {
    readonly step: number | null
    readonly all: readonly WholeCheckpoint[]
    readonly halves: readonly Half[]
  },
): Failure {
  const { step, all, halves } = of
  const steps = all.map((one) => one.step)
  const shown = `${steps.slice(0, namedMax).join(', ')}${steps.length > namedMax ? ', …' : ''}`
  const half = halves.slice(0, namedMax).map(({ name, why }) => `\n  ${name}: ${why}`)
  const facts = `store=${store.url}, step=${step ?? 'any'}, complete=${shown || 'none'}`
  return new Failure('invalid', `no complete checkpoint to export. ${facts}${half.join('')}`, {
    remedy:
      all.length > 0
        ? 'Give --checkpoint one of those steps, or none for the newest.'
        : 'Train first; a training saves a checkpoint now and then, and one at its end.',
  })
}
