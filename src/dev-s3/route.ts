/** Which operation a request asks for, and who answers it. Path style only: `/bucket/key`. */
import type { IncomingMessage } from 'node:http'
import { type Answer, type DevRequest, Refusal } from './answer.ts'
import type { Fault } from './faults.ts'
import { listObjects } from './listing.ts'
import type { Multiparts } from './multipart.ts'
import { deleteObject, getObject, headObject, putObject } from './objects.ts'
import type { Shelf } from './shelf.ts'

export interface Shop {
  readonly shelf: Shelf
  readonly multiparts: Multiparts
}

type Place = Pick<DevRequest, 'operation' | 'bucket' | 'key' | 'query'>

export function operationOf(incoming: IncomingMessage): Place {
  const { pathname, searchParams: query } = new URL(incoming.url ?? '/', 'http://127.0.0.1')
  const [bucket = '', ...parts] = pathname.slice(1).split('/')
  const key = decodeURIComponent(parts.join('/'))
  const method = incoming.method ?? ''
  const operation = key === '' ? bucketOperation(method, query) : objectOperation(method, query)
  return { operation, bucket, key, query }
}

function bucketOperation(method: string, query: URLSearchParams): string {
  if (method === 'GET') return query.has('uploads') ? 'ListMultipartUploads' : 'ListObjectsV2'
  if (method === 'HEAD') return 'HeadBucket'
  return method === 'PUT' ? 'CreateBucket' : method
}

function objectOperation(method: string, query: URLSearchParams): string {
  if (method === 'POST' && query.has('uploads')) return 'CreateMultipartUpload'
  if (query.has('uploadId')) {
    const named: Readonly<Record<string, string>> = {
      GET: 'ListParts',
      PUT: 'UploadPart',
      POST: 'CompleteMultipartUpload',
      DELETE: 'AbortMultipartUpload',
    }
    return named[method] ?? method
  }
  const named: Readonly<Record<string, string>> = {
    PUT: 'PutObject',
    GET: 'GetObject',
    HEAD: 'HeadObject',
    DELETE: 'DeleteObject',
  }
  return named[method] ?? method
}

/** @param fault  what goes wrong with it, where that is for the one who answers to do */
export function route(
  { shelf, multiparts }: Shop,
  asked: DevRequest,
  fault: Fault['kind'] | undefined,
): Answer {
  const request = fault === 'short-pages' ? withShortPages(asked) : asked
  if (request.operation === 'CreateBucket') {
    shelf.addBucket(request.bucket)
    return { status: 200 }
  }
  if (!shelf.has(request.bucket)) throw new Refusal(404, 'NoSuchBucket')
  switch (request.operation) {
    case 'HeadBucket':
      return { status: 200 }
    case 'ListObjectsV2':
      return listObjects(shelf, request)
    case 'PutObject':
      return putObject(shelf, request, { ignoreConditions: fault === 'ignore-conditions' })
    case 'GetObject':
      return getObject(shelf, request)
    case 'HeadObject':
      return headObject(shelf, request)
    case 'DeleteObject':
      return deleteObject(shelf, request)
    case 'CreateMultipartUpload':
      return multiparts.create(request)
    case 'UploadPart':
      return multiparts.putPart(request, { truncated: fault === 'truncate' })
    case 'CompleteMultipartUpload':
      return multiparts.complete(request, { equalParts: fault === 'equal-parts' })
    case 'ListParts':
      return multiparts.listParts(request)
    case 'AbortMultipartUpload':
      return multiparts.abort(request)
    case 'ListMultipartUploads':
      return multiparts.list(request)
    default:
      throw new Refusal(501, 'NotImplemented')
  }
}

/** A store may give fewer than were asked for. */
function withShortPages(request: DevRequest): DevRequest {
  const query = new URLSearchParams(request.query)
  for (const name of ['max-keys', 'max-parts', 'max-uploads']) query.set(name, '2')
  return { ...request, query }
}
