/**
 * An upload in parts to a folder: a side folder of its own, which completing turns into one file.
 * A part's name is its number and its CRC-32, so that what a dead process left is told by names.
 */
import { randomUUID } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure, hasCode } from '../failure.ts'
import { fileFailure } from './file-errors.ts'
import { type Incoming, makeLastingFolder, publish, writeIncoming } from './file-write.ts'
import type { Acknowledgement, Body, MultipartUpload, PartRef, PutOptions } from './store.ts'

const KEY_FILE = 'key'
const partName = /^(?<number>[1-9]\d*)-(?<etag>[0-9a-f]{1,8})$/

interface Target {
  readonly key: string
  /** Where the object will lie. */
  readonly path: string
}

export async function startFileMultipart(parts: string, target: Target): Promise<MultipartUpload> {
  const id = randomUUID()
  await makeLastingFolder(join(parts, id))
  await writeFile(join(parts, id, KEY_FILE), target.key)
  return new FileMultipart(join(parts, id), { ...target, id, startedAt: Date.now() })
}

export async function openFileMultiparts(
  parts: string,
  ask: { readonly prefix: string; readonly pathOf: (key: string) => string },
): Promise<readonly MultipartUpload[]> {
  const open: MultipartUpload[] = []
  for (const id of await foldersIn(parts)) {
    const folder = join(parts, id)
    const { key, startedAt } = await begun(folder)
    if (startedAt === undefined || !key.startsWith(ask.prefix)) continue
    open.push(new FileMultipart(folder, { key, path: ask.pathOf(key), id, startedAt }))
  }
  return open
}

/** Without its key file the start itself was cut short, or is under way: the key is empty. */
async function begun(
  folder: string,
): Promise<{ readonly key: string; readonly startedAt: number | undefined }> {
  const path = join(folder, KEY_FILE)
  try {
    const key = (await unlessGone(readFile(path, 'utf8'))) ?? ''
    const since = (await unlessGone(stat(path))) ?? (await unlessGone(stat(folder)))
    return { key, startedAt: since && Math.floor(since.mtimeMs) }
  } catch (error) {
    throw fileFailure(error, { doing: 'list uploads', path })
  }
}

/** Undefined where there is no such file: any other error does not tell that it is gone. */
async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

class FileMultipart implements MultipartUpload {
  readonly key: string
  readonly id: string
  readonly startedAt: number
  readonly #folder: string
  readonly #path: string

  constructor(
    folder: string,
    upload: Target & { readonly id: string; readonly startedAt: number },
  ) {
    this.id = upload.id
    this.key = upload.key
    this.startedAt = upload.startedAt
    this.#path = upload.path
    this.#folder = folder
  }

  async putPart(number: number, body: Body, options: PutOptions = {}): Promise<PartRef> {
    return this.#guard(async () => {
      options.signal?.throwIfAborted()
      await this.#mustBeOpen()
      const incoming = await writeIncoming(this.#folder, [body], options.crc32)
      const { crc32, bytes: size } = incoming
      const ref = { number, etag: crc32.toString(16), size, crc32 }
      await publish(incoming.path, this.#partPath(ref))
      await this.#removeOthersOf(ref)
      return ref
    })
  }

  async listParts(): Promise<readonly PartRef[]> {
    return this.#guard(() => this.#kept())
  }

  async complete(
    parts: readonly PartRef[],
    whole: { readonly crc32?: number } = {},
  ): Promise<Acknowledgement> {
    return this.#guard(async () => {
      await this.#mustBeOpen()
      const bodies: Body[] = []
      for (const ref of parts) {
        const path = this.#partPath(ref)
        const found = await unlessGone(stat(path))
        if (found?.size !== ref.size) this.#refuse(`upload has no such part. part=${ref.number}`)
        bodies.push({ path, offset: 0, length: ref.size })
      }
      const joined = await writeIncoming(this.#folder, bodies)
      await this.#mustBe(whole.crc32, joined)
      await publish(joined.path, this.#path)
      await this.abort()
      return { crc32: joined.crc32 }
    })
  }

  async abort(): Promise<void> {
    await this.#guard(() => rm(this.#folder, { recursive: true, force: true }))
  }

  async #mustBe(want: number | undefined, { path, crc32 }: Incoming): Promise<void> {
    if (want === undefined || want === crc32) return
    await rm(path, { force: true })
    const facts = `key=${this.key}, want=${want}, found=${crc32}`
    throw new Failure('corrupt', `upload has another CRC-32 than the object. ${facts}`, {
      remedy: 'Start the upload anew.',
    })
  }

  async #removeOthersOf(ref: PartRef): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name)
      if (!name.startsWith(`${ref.number}-`) || path === this.#partPath(ref)) continue
      if (partName.test(name)) await rm(path, { force: true })
    }
  }

  /** Of two under one number, which a death while it was put again has left, the later. */
  async #kept(): Promise<readonly PartRef[]> {
    await this.#mustBeOpen()
    const kept = new Map<number, PartRef & { readonly at: number }>()
    for (const name of await readdir(this.#folder)) {
      const { number, etag } = partName.exec(name)?.groups ?? {}
      if (number === undefined || etag === undefined) continue
      const file = await unlessGone(stat(join(this.#folder, name)))
      if (!file) continue
      const { size, mtimeMs: at } = file
      const found = { number: Number(number), etag, size, crc32: Number.parseInt(etag, 16), at }
      if (at >= (kept.get(found.number)?.at ?? 0)) kept.set(found.number, found)
    }
    return [...kept.values()].map(({ at: _, ...ref }) => ref).sort((a, b) => a.number - b.number)
  }

  async #mustBeOpen(): Promise<void> {
    const found = await unlessGone(stat(join(this.#folder, KEY_FILE)))
    if (!found) this.#refuse('upload was completed or aborted.')
  }

  #partPath(ref: Pick<PartRef, 'number' | 'etag'>): string {
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

/** None where nothing was ever sent in parts. What is no folder is not ours. */
async function foldersIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = (await unlessGone(readdir(folder, { withFileTypes: true }))) ?? []
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  } catch (error) {
    throw fileFailure(error, { doing: 'list uploads', path: folder })
  }
}
