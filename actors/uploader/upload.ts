import { crc32 } from 'node:zlib'
import type { SampleRef } from '../../protocol/sample.ts'
import { explain, isFailure } from '../../src/failure.ts'
import { sampleKey } from '../../src/manifest/key.ts'
import { probe } from '../../src/probe.ts'
import { confirm } from '../../src/store/confirm.ts'
import type { Acknowledgement, ObjectStore } from '../../src/store/store.ts'
import { afterEvent, beginUpload, type UploadEvent } from './machine.ts'
import type { SpoolReader } from './read.ts'

/** A store that keeps half a body each time is broken; this often it may have been the line. */
const puts = 3

export interface UploadTools {
  /** Each request takes a permit; what may pass is tried again. */
  readonly store: ObjectStore
  readonly path: (sample: SampleRef) => string
  readonly reader: SpoolReader
  /**
   * The store refuses a body that has not the CRC-32 that is sent with it. So a file is summed here
   * only where the store took it without a word of its CRC-32, or did not take it.
   */
  readonly storeSums: boolean
}

export type Uploaded =
  | { readonly kind: 'stored'; readonly key: string }
  | { readonly kind: 'torn' | 'failed' | 'returned'; readonly reason: string }

/** One spooled file → one confirmed object. */
export const upload = (sample: SampleRef, tools: UploadTools): Promise<Uploaded> => {
  const file = { path: tools.path(sample), sample, sum: !tools.storeSums }
  return tools.reader.withWhole(file, (body) =>
    body ? new Sending(sample, body, tools).end() : Promise.resolve(torn),
  )
}

const torn: Uploaded = { kind: 'torn', reason: 'the file is not what its name says' }

/** The puts of one file, until one is confirmed or nothing more is to be tried. */
class Sending {
  readonly #sample: SampleRef
  readonly #key: string
  readonly #body: Buffer
  readonly #store: ObjectStore
  /** The body is known to have the sample's CRC-32. */
  #isSummed: boolean
  #acknowledgement: Acknowledgement = {}
  #reason = ''

  constructor(sample: SampleRef, body: Buffer, { store, storeSums }: UploadTools) {
    this.#sample = sample
    this.#key = sampleKey(sample.hash, sample.crc32)
    this.#body = body
    this.#store = store
    this.#isSummed = !storeSums
  }

  async end(): Promise<Uploaded> {
    let life = afterEvent(beginUpload(puts), 'intact')
    for (;;) {
      const { value: state } = life
      if (state === 'putting' || state === 'confirming') {
        life = afterEvent(life, await this.#attempt(state))
      } else if (state === 'stored') return { kind: 'stored', key: this.#key }
      else if (state === 'torn') return torn
      else return { kind: ended(state), reason: this.#reason }
    }
  }

  async #attempt(state: 'putting' | 'confirming'): Promise<UploadEvent['type']> {
    try {
      return await (state === 'putting' ? this.#put() : this.#confirm())
    } catch (error) {
      const event = whatFollows(error)
      this.#reason = explain(error)
      return this.#isTorn() ? 'torn' : event
    }
  }

  async #put(): Promise<UploadEvent['type']> {
    const options = { crc32: this.#sample.crc32 }
    probe('uploader.before-put')
    this.#acknowledgement = await this.#store.put(this.#key, this.#body, options)
    probe('uploader.put')
    return 'acknowledged'
  }

  async #confirm(): Promise<UploadEvent['type']> {
    const { crc32: ours, bytes: size } = this.#sample
    const said = this.#acknowledgement
    // The other rungs prove that the store holds what was sent, not that this was the sample.
    if (said.crc32 === undefined && this.#isTorn()) return 'torn'
    await confirm(this.#store, this.#key, said, { crc32: ours, size, body: this.#body })
    probe('uploader.confirmed')
    return 'confirmed'
  }

  #isTorn(): boolean {
    this.#isSummed ||= crc32(this.#body) === this.#sample.crc32
    return !this.#isSummed
  }
}

/** What is no Failure is a bug. */
function whatFollows(error: unknown): UploadEvent['type'] {
  if (!isFailure(error)) throw error
  if (error.kind === 'unavailable') return 'unavailable'
  return error.kind === 'corrupt' ? 'differs' : 'refused'
}

function ended(state: unknown): 'failed' | 'returned' {
  if (state === 'failed' || state === 'returned') return state
  throw new Error(`an upload stands still. state=${String(state)}`)
}
