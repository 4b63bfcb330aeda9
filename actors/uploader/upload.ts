import type { SampleRef } from '../../protocol/sample.ts'
import { explain, isFailure } from '../../src/failure.ts'
import { sampleKey } from '../../src/manifest/key.ts'
import { probe } from '../../src/probe.ts'
import { confirm } from '../../src/store/confirm.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { afterEvent, beginUpload, type UploadEvent } from './machine.ts'
import { withWhole } from './read.ts'

/** A store that keeps half a body each time is broken; this often it may have been the line. */
const puts = 3

export interface UploadTools {
  /** Each request takes a permit; what may pass is tried again. */
  readonly store: ObjectStore
  readonly path: (sample: SampleRef) => string
}

export type Uploaded =
  | { readonly kind: 'stored'; readonly key: string }
  | { readonly kind: 'torn' | 'failed' | 'returned'; readonly reason: string }

/** One spooled file → one confirmed object. */
export const upload = (sample: SampleRef, tools: UploadTools): Promise<Uploaded> =>
  withWhole(tools.path(sample), sample, (body) => send(sample, body, tools.store))

async function send(
  sample: SampleRef,
  body: Buffer | undefined,
  store: ObjectStore,
): Promise<Uploaded> {
  const key = sampleKey(sample.hash, sample.crc32)
  let reason = body ? '' : 'the file is not what its name says'
  let life = afterEvent(beginUpload(puts), body ? 'intact' : 'torn')
  let acknowledgement = {}
  const put = async (): Promise<UploadEvent['type']> => {
    acknowledgement = await store.put(key, body ?? Buffer.alloc(0), { crc32: sample.crc32 })
    probe('uploader.put')
    return 'acknowledged'
  }
  const confirmed = async (): Promise<UploadEvent['type']> => {
    const ours = { crc32: sample.crc32, size: sample.bytes, body: body ?? Buffer.alloc(0) }
    await confirm(store, key, acknowledgement, ours)
    return 'confirmed'
  }
  const attempt = async (
    step: () => Promise<UploadEvent['type']>,
  ): Promise<UploadEvent['type']> => {
    try {
      return await step()
    } catch (error) {
      reason = explain(error)
      return whatFollows(error)
    }
  }
  for (;;) {
    const { value: state } = life
    if (state === 'putting') life = afterEvent(life, await attempt(put))
    else if (state === 'confirming') life = afterEvent(life, await attempt(confirmed))
    else if (state === 'stored') return { kind: 'stored', key }
    else return { kind: ended(state), reason }
  }
}

/** What is no Failure is a bug. */
function whatFollows(error: unknown): UploadEvent['type'] {
  if (!isFailure(error)) throw error
  if (error.kind === 'unavailable') return 'unavailable'
  return error.kind === 'corrupt' ? 'differs' : 'refused'
}

function ended(state: unknown): 'torn' | 'failed' | 'returned' {
  if (state === 'torn' || state === 'failed' || state === 'returned') return state
  throw new Error(`an upload stands still. state=${String(state)}`)
}
