/**
 * An upload in parts to a folder: a side folder of its own, which completing turns into one file.
 */
import { randomUUID } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure, hasCode } from '../failure.ts'
import { fileFailure } from './file-errors.ts'
import { makeLastingFolder, publish, writeIncoming } from './file-write.ts'
import type { Acknowledgement, Body, MultipartUpload, PartRef, PutOptions } from './store.ts'

const KEY_FILE = 'key'

interface Target {
  readonly key: string
  /** Where the object will lie. */
  readonly path: string
}

export async function startFileMultipart(parts: string, target: Target): Promise<MultipartUpload> {
  const id = randomUUID()
  await makeLastingFolder(join(parts, id))
  await writeFile(join(parts, id, KEY_FILE), target.key)
  return new FileMultipart(parts, id, target)
}

export async function openFileMultiparts(
  parts: string,
  ask: { readonly prefix: string; readonly pathOf: (key: string) => string },
): Promise<readonly MultipartUpload[]> {
  const open: MultipartUpload[] = []
  for (const id of await namesIn(parts)) {
    // Without its key file the start itself was cut short: it is found with the empty key.
    const key = await readFile(join(parts, id, KEY_FILE), 'utf8').catch(() => '')
    if (!key.startsWith(ask.prefix)) continue
    open.push(new FileMultipart(parts, id, { key, path: ask.pathOf(key) }))
  }
  return open
}

class FileMultipart implements MultipartUpload {
  readonly key: string
  readonly id: string
  readonly #folder: string
  readonly #path: string

  constructor(parts: string, id: string, target: Target) {
    this.id = id
    this.key = target.key
    this.#path = target.path
    this.#folder = join(parts, id)
  }

  async putPart(number: number, body: Body, options: PutOptions = {}): Promise<PartRef> {
    return this.#guard(async () => {
      options.signal?.throwIfAborted()
      await this.#mustBeOpen()
      const incoming = await writeIncoming(this.#folder, [body], options.crc32)
      const ref = { number, etag: incoming.crc32.toString(16), size: incoming.bytes }
      await publish(incoming.path, this.#partPath(ref))
      return ref
    })
  }

  async complete(parts: readonly PartRef[]): Promise<Acknowledgement> {
    return this.#guard(async () => {
      await this.#mustBeOpen()
      const bodies: Body[] = []
      for (const ref of parts) {
        const path = this.#partPath(ref)
        const found = await stat(path).catch(() => undefined)
        if (found?.size !== ref.size) this.#refuse(`upload has no such part. part=${ref.number}`)
        bodies.push({ path, offset: 0, length: ref.size })
      }
      const whole = await writeIncoming(this.#folder, bodies)
      await publish(whole.path, this.#path)
      await this.abort()
      return { crc32: whole.crc32 }
    })
  }

  async abort(): Promise<void> {
    await this.#guard(() => rm(this.#folder, { recursive: true, force: true }))
  }

  async #mustBeOpen(): Promise<void> {
    const found = await stat(join(this.#folder, KEY_FILE)).catch(() => undefined)
    if (!found) this.#refuse('upload was completed or aborted.')
  }

  #partPath(ref: PartRef): string {
    return join(this.#folder, `${ref.number}-${ref.etag}`)
  }

  #refuse(message: string): never {
    throw new Failure('invalid', `${message} key=${this.key}, upload=${this.id}`)
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw fileFailure(error, { doing: 'store in parts', path: this.#path })
    }
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw fileFailure(error, { doing: 'list uploads', path: folder })
  }
}
