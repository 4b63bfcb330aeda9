/** One object: put, with its conditions; get, with its range; head; delete. */
import { type Answer, type DevRequest, Refusal } from './answer.ts'
import type { Held, Shelf } from './shelf.ts'

export function putObject(
  shelf: Shelf,
  request: DevRequest,
  options: { readonly ignoreConditions: boolean },
): Answer {
  const { bucket, key, body, crc32, headers } = request
  const found = shelf.find(bucket, key)
  if (!options.ignoreConditions) {
    if (headers['if-none-match'] === '*' && found) throw new Refusal(412, 'PreconditionFailed')
    const match = headers['if-match']
    if (match !== undefined && !found) throw new Refusal(404, 'NoSuchKey')
    if (match !== undefined && match !== quoted(found)) throw new Refusal(412, 'PreconditionFailed')
  }
  return { status: 200, headers: tagsOf(shelf.put({ bucket, key }, body, { crc32 })) }
}

export function getObject(shelf: Shelf, request: DevRequest): Answer {
  const held = mustFind(shelf, request)
  const range = rangeOf(request.headers.range, held.size)
  const headers = headersOf(held, request)
  if (!range) return { status: 200, headers, body: shelf.read(held) }
  const { start, end } = range
  return {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${start}-${end - 1}/${held.size}` },
    body: shelf.read(held, start, end),
  }
}

export function headObject(shelf: Shelf, request: DevRequest): Answer {
  const held = mustFind(shelf, request)
  return { status: 200, headers: { ...headersOf(held, request), 'content-length': `${held.size}` } }
}

export function deleteObject(shelf: Shelf, request: DevRequest): Answer {
  shelf.remove(request.bucket, request.key)
  return { status: 204 }
}

function mustFind(shelf: Shelf, request: DevRequest): Held {
  const held = shelf.find(request.bucket, request.key)
  if (!held) throw new Refusal(404, 'NoSuchKey')
  return held
}

function headersOf(held: Held, request: DevRequest): Readonly<Record<string, string>> {
  const asked = request.headers['x-amz-checksum-mode'] === 'ENABLED'
  return {
    ...tagsOf(asked ? held : { etag: held.etag }),
    'last-modified': new Date(held.lastModified).toUTCString(),
    'accept-ranges': 'bytes',
    'content-type': 'application/octet-stream',
  }
}

const quoted = (held: Pick<Held, 'etag'> | undefined): string => `"${held?.etag}"`

const tagsOf = (held: Pick<Held, 'etag' | 'crc32'>): Readonly<Record<string, string>> => ({
  etag: quoted(held),
  ...(held.crc32 !== undefined && { 'x-amz-checksum-crc32': held.crc32 }),
})

/** `bytes=a-b`, `bytes=a-` and `bytes=-n`, as [start, end). */
function rangeOf(
  header: string | undefined,
  size: number,
): { readonly start: number; readonly end: number } | undefined {
  const parts = /^bytes=(?<from>\d*)-(?<to>\d*)$/.exec(header ?? '')?.groups
  if (!parts) return undefined
  const { from = '', to = '' } = parts
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const end = from === '' || to === '' ? size : Math.min(size, Number(to) + 1)
  if (start >= size) throw new Refusal(416, 'InvalidRange')
  return { start, end }
}
