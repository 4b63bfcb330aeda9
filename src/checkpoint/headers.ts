/** What a checkpoint's files say of themselves, and single tensors of them, without the rest. */
import { Failure } from '../failure.ts'
import { headerEnd, parseHeader, prefixBytes, type TensorInfo } from '../safetensors/header.ts'
import type { ObjectStore } from '../store/store.ts'
import type { Headers } from './accept.ts'
import type { WholeCheckpoint } from './list.ts'
import { fileKey } from './names.ts'

type File = 'model' | 'optimizer'

/** @throws Failure `corrupt`: a file is gone, or has no header that fits it */
export async function readHeaders(
  store: ObjectStore,
  checkpoint: WholeCheckpoint,
): Promise<Headers> {
  const of = (file: File) => readHeader(store, checkpoint, file)
  return { name: checkpoint.name, model: await of('model'), optimizer: await of('optimizer') }
}

/** Of one of the two, by its tensors' names. @throws  as `readHeaders` */
export async function readHeader(
  store: ObjectStore,
  { name, state }: WholeCheckpoint,
  file: File,
): Promise<ReadonlyMap<string, TensorInfo>> {
  const key = fileKey(name, file)
  const about = { name: key, bytes: state.files[file].bytes }
  const end = headerEnd(await readPart(store, key, { start: 0, end: prefixBytes }), about)
  return parseHeader(await readPart(store, key, { start: 0, end }), about).tensors
}

/**
 * Bytes [start, end) of a checkpoint's file. Their checksum is not known.
 *
 * @throws  Failure `corrupt`: the file is gone, or ends before them
 */
export async function readPart(
  store: ObjectStore,
  key: string,
  { start, end }: Pick<TensorInfo, 'start' | 'end'>,
): Promise<Buffer> {
  const bytes = await store.get(key, { start, end })
  if (bytes?.length === end - start) return bytes
  const found = bytes?.length ?? 'none'
  const facts = `key=${key}, want=${end - start} bytes from ${start}, found=${found}`
  throw new Failure('corrupt', `a file of a checkpoint is not what was saved. ${facts}`, {
    remedy: 'Go on from another checkpoint; `draftsmith verify` tells which one is whole.',
  })
}
