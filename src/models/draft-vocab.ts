/**
 * The part of the target's vocabulary that a drafter drafts from, where that is not all of it: the
 * head then has a row for each of these tokens alone. As published: `d2t` holds for each of them
 * how far its id lies above its place, `t2d` whether a token of the target is among them.
 *
 * @source  EAGLE-3's checkpoints, vllm-project/speculators
 */
import { Failure } from '../failure.ts'
import type { TensorToWrite } from '../safetensors/write.ts'

/** Of a drafter that drafts from a part of the vocabulary: kept with its parameters. */
export interface VocabMaps {
  /** int64: of each draft id, how far the target's lies above it. */
  readonly d2t: BigInt64Array
  /** By the target's id: 1 where it can be drafted. */
  readonly t2d: Uint8Array
}

/** Which tokens of a target can be drafted. */
export class DraftVocab {
  /** Of the target, rising: the draft id of each is its place. */
  readonly ids: readonly number[]
  readonly vocabSize: number
  readonly #places: Int32Array

  /** @throws  Failure `invalid`: ids that do not rise, or that the target lacks */
  constructor(ids: readonly number[], vocabSize: number) {
    const odd = ids.find((id, i) => !(id >= 0 && id < vocabSize && (i === 0 || id > ids[i - 1])))
    if (odd !== undefined || ids.length === 0) {
      const want = `rising ids below ${vocabSize}`
      throw new Failure('invalid', `no draft vocabulary. want=${want}, found=${odd ?? 'none'}`)
    }
    this.ids = ids
    this.vocabSize = vocabSize
    this.#places = new Int32Array(vocabSize).fill(-1)
    ids.forEach((id, place) => {
      this.#places[id] = place
    })
  }

  /** @returns  the token's draft id; -1 where it cannot be drafted */
  placeOf(id: number): number {
    return this.#places[id]
  }

  /** What a checkpoint holds of it. */
  maps(): VocabMaps {
    return {
      d2t: BigInt64Array.from(this.ids, (id, place) => BigInt(id - place)),
      t2d: Uint8Array.from(this.#places, (place) => (place >= 0 ? 1 : 0)),
    }
  }

  /** The rows of a head [vocab, width] that are these tokens'. */
  rowsOf(head: Float32Array): Float32Array {
    const width = head.length / this.vocabSize
    const rows = new Float32Array(this.ids.length * width)
    this.ids.forEach((id, place) => {
      rows.set(head.subarray(id * width, (id + 1) * width), place * width)
    })
    return rows
  }
}

/** @throws  Failure `invalid`: maps that do not agree, or that are none */
export function draftVocabOf(d2t: BigInt64Array, t2d: Uint8Array): DraftVocab {
  const ids = Array.from(d2t, (offset, place) => Number(offset) + place)
  const vocab = new DraftVocab(ids, t2d.length)
  const differs = vocab.maps().t2d.findIndex((isIn, id) => isIn !== t2d[id])
  if (differs === -1) return vocab
  throw new Failure('invalid', `maps of a draft vocabulary disagree. token=${differs}`)
}

/**
 * @param counts  how often each token of the target's vocabulary is to be drafted
 * @returns       the `size` most frequent, of equals the lower ids
 */
export function mostFrequent(counts: ArrayLike<number>, size: number): DraftVocab {
  const ids = Array.from({ length: counts.length }, (_, id) => id)
  const ranked = ids.sort((a, b) => counts[b] - counts[a] || a - b).slice(0, size)
  return new DraftVocab(
    ranked.sort((a, b) => a - b),
    counts.length,
  )
}

/** As they stand beside the parameters. */
export const vocabTensors = ({ d2t, t2d }: VocabMaps): TensorToWrite[] => [
  {
    ...{ name: 'd2t', shape: [d2t.length], dtype: 'I64' },
    data: new Uint8Array(d2t.buffer, d2t.byteOffset, d2t.byteLength),
  },
  { name: 't2d', shape: [t2d.length], dtype: 'BOOL', data: t2d },
]
