/**
 * Reads safetensors: from bytes, as views on them; from a file, tensor by tensor.
 *
 * npm's `safetensors` 0.0.1 is not used: it takes `__metadata__` for a tensor and throws on every
 * file that has it, Hugging Face's and ours among them, and it looks for the length at the start of
 * the underlying memory, whatever the view's offset. Once the header is checked, all that would be
 * left for it is a `subarray`.
 */

import { type FileHandle, open } from 'node:fs/promises'
import { Failure, isFailure } from '../failure.ts'
import type { Tensor } from '../tensor/tensor.ts'
import { headerEnd, parseHeader, prefixBytes, type SafetensorsHeader } from './header.ts'

/** A whole file in memory; its tensors are views on it. */
export interface Safetensors {
  readonly metadata: ReadonlyMap<string, string>
  readonly tensors: ReadonlyMap<string, Tensor>
}

/** A file whose header is read and fits its size; its tensors are read when asked for. */
export interface SafetensorsFile extends SafetensorsHeader {
  readonly path: string
  readonly bytes: number
}

/**
 * @param bytes  a whole file; a view at any offset will do. The tensors are views on it
 * @param name   for messages
 * @throws       Failure `corrupt`: see `parseHeader`
 */
export function readSafetensors(bytes: Uint8Array, name: string): Safetensors {
  const header = parseHeader(bytes, { name, bytes: bytes.length })
  const tensors = new Map<string, Tensor>()
  for (const [name, { dtype, shape, start, end }] of header.tensors) {
    const data = new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start)
    tensors.set(name, { name, dtype, shape, data })
  }
  return { metadata: header.metadata, tensors }
}

/**
 * Reads the header alone, however big the file.
 *
 * @throws  Failure `corrupt`: see `parseHeader`; `invalid`: the file cannot be read
 */
export function openSafetensors(path: string): Promise<SafetensorsFile> {
  return withFile(path, async (handle) => {
    const { size } = await handle.stat()
    const file = { name: path, bytes: size }
    const prefix = await readRange(handle, { path, start: 0, end: Math.min(prefixBytes, size) })
    const head = await readRange(handle, { path, start: 0, end: headerEnd(prefix, file) })
    return { path, bytes: size, ...parseHeader(head, file) }
  })
}

/**
 * @returns  the tensor in memory of its own
 * @throws   Failure `invalid`: no tensor of that name, or the file cannot be read; `corrupt`: the
 *           file has been cut since it was opened
 */
export async function readTensor(file: SafetensorsFile, name: string): Promise<Tensor> {
  const { path } = file
  const info = file.tensors.get(name)
  if (!info) {
    const facts = `file=${path}, tensor=${JSON.stringify(name)}, found=${file.tensors.size} others`
    throw new Failure('invalid', `no such tensor. ${facts}`)
  }
  const { dtype, shape, start, end } = info
  const data = await withFile(path, (handle) => readRange(handle, { path, start, end }))
  return { name, dtype, shape, data }
}

/** One system call reads less than 2 GiB. */
const chunkBytes = 2 ** 30

interface Range {
  readonly path: string
  readonly start: number
  readonly end: number
}

/**
 * Bytes [start, end) of a file, whole, however few a system call gives.
 *
 * @throws  Failure `corrupt`: the file ends before them
 */
export async function readRange(
  handle: FileHandle,
  { path, start, end }: Range,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start)
  let filled = 0
  while (filled < bytes.length) {
    const length = Math.min(chunkBytes, bytes.length - filled)
    const { bytesRead } = await handle.read(bytes, filled, length, start + filled)
    if (bytesRead === 0) {
      const facts = `file=${path}, want=${end} bytes, found=${start + filled}`
      throw new Failure('corrupt', `file was cut while it was read. ${facts}`)
    }
    filled += bytesRead
  }
  return bytes
}

async function withFile<T>(path: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path)
    return await use(handle)
  } catch (cause) {
    if (isFailure(cause)) throw cause
    throw new Failure('invalid', `safetensors file cannot be read. file=${path}`, { cause })
  } finally {
    await handle?.close()
  }
}
