import { readFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { createActor } from 'xstate'
import type { SampleRef } from '../../protocol/sample.ts'
import { explain, hasCode, isFailure } from '../../src/failure.ts'
import { sampleKey } from '../../src/manifest/key.ts'
import { probe } from '../../src/probe.ts'
import { diskFailure } from '../../src/spool/disk-failure.ts'
import { confirm } from '../../src/store/confirm.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { type UploadEvent, uploadMachine } from './machine.ts'

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
export async function upload(sample: SampleRef, tools: UploadTools): Promise<Uploaded> {
  const { store } = tools
  const life = createActor(uploadMachine, { input: { puts } }).start()
  const key = sampleKey(sample.hash, sample.crc32)
  const body = await readWhole(tools.path(sample), sample)
  let reason = body ? '' : 'the file is not what its name says'
  life.send({ type: body ? 'intact' : 'torn' })
  let acknowledgement = {}
  const put = async (): Promise<UploadEvent> => {
    acknowledgement = await store.put(key, body ?? Buffer.alloc(0), { crc32: sample.crc32 })
    probe('uploader.put')
    return { type: 'acknowledged' }
  }
  const confirmed = async (): Promise<UploadEvent> => {
    const ours = { crc32: sample.crc32, size: sample.bytes, body: body ?? Buffer.alloc(0) }
    await confirm(store, key, acknowledgement, ours)
    return { type: 'confirmed' }
  }
  const attempt = async (step: () => Promise<UploadEvent>): Promise<UploadEvent> => {
    try {
      return await step()
    } catch (error) {
      reason = explain(error)
      return whatFollows(error)
    }
  }
  for (;;) {
    const state = life.getSnapshot()
    if (state.matches('putting')) life.send(await attempt(put))
    else if (state.matches('confirming')) life.send(await attempt(confirmed))
    else if (state.matches('stored')) return { kind: 'stored', key }
    else return { kind: ended(state.value), reason }
  }
}

/** What is no Failure is a bug. */
function whatFollows(error: unknown): UploadEvent {
  if (!isFailure(error)) throw error
  if (error.kind === 'unavailable') return { type: 'unavailable' }
  return { type: error.kind === 'corrupt' ? 'differs' : 'refused' }
}

function ended(state: unknown): 'torn' | 'failed' | 'returned' {
  if (state === 'torn' || state === 'failed' || state === 'returned') return state
  throw new Error(`an upload stands still. state=${String(state)}`)
}

/**
 * The file's bytes where they are what its name says; undefined for a torn file, none, or one that
 * the disk has lost.
 */
async function readWhole(path: string, sample: SampleRef): Promise<Buffer | undefined> {
  try {
    const bytes = await readFile(path)
    const whole = bytes.length === sample.bytes && crc32(bytes) === sample.crc32
    return whole ? bytes : undefined
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EIO')) return undefined
    throw diskFailure(error, 'spooled sample cannot be read', path)
  }
}
