/** ListObjectsV2: a page of keys, by prefix and delimiter. */

import { compareKeys } from '../store/keys.ts'
import { type Answer, type DevRequest, escapeXml, xml } from './answer.ts'
import type { Shelf } from './shelf.ts'

const KEYS_MAX = 1000

export function listObjects(shelf: Shelf, request: DevRequest): Answer {
  const { query, bucket } = request
  const prefix = query.get('prefix') ?? ''
  const delimiter = query.get('delimiter') ?? ''
  const max = Math.min(KEYS_MAX, Number(query.get('max-keys') ?? KEYS_MAX))
  const after = tokenKey(query.get('continuation-token')) ?? query.get('start-after') ?? ''
  const keys = shelf.keys(bucket)

  const items: { readonly name: string; readonly folder: boolean }[] = []
  let truncated = false
  for (let i = firstIndex(keys, { prefix, after }); i < keys.length; i++) {
    const key = keys[i] ?? ''
    if (!key.startsWith(prefix)) break
    const cut = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
    const name = cut < 0 ? key : key.slice(0, cut + delimiter.length)
    // The folder was named already, on this page or at the end of the last.
    if (cut >= 0 && (items.at(-1)?.name === name || after === name)) continue
    if (items.length === max) {
      truncated = true
      break
    }
    items.push({ name, folder: cut >= 0 })
  }

  const encode = query.get('encoding-type') === 'url' ? encodeKey : escapeXml
  const inner = items.map((item) => {
    const name = encode(item.name)
    if (item.folder) return `<CommonPrefixes><Prefix>${name}</Prefix></CommonPrefixes>`
    const held = shelf.find(bucket, item.name)
    const at = new Date(held?.lastModified ?? 0).toISOString()
    const tags = `<LastModified>${at}</LastModified><ETag>&quot;${held?.etag}&quot;</ETag>`
    return `<Contents><Key>${name}</Key>${tags}<Size>${held?.size}</Size></Contents>`
  })
  const last = items.at(-1)?.name ?? ''
  const next = Buffer.from(last).toString('base64url')
  return xml(
    'ListBucketResult',
    `<Name>${bucket}</Name><Prefix>${encode(prefix)}</Prefix><KeyCount>${items.length}</KeyCount>` +
      `<MaxKeys>${max}</MaxKeys><IsTruncated>${truncated}</IsTruncated>` +
      (truncated ? `<NextContinuationToken>${next}</NextContinuationToken>` : '') +
      inner.join(''),
  )
}

/** Where the keys begin that come after `after`, and not before the prefix. */
function firstIndex(
  keys: readonly string[],
  ask: { readonly prefix: string; readonly after: string },
): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    const key = keys[middle] ?? ''
    const comes = compareKeys(key, ask.after) > 0 && compareKeys(key, ask.prefix) >= 0
    if (comes) high = middle
    else low = middle + 1
  }
  return low
}

const tokenKey = (token: string | null): string | undefined =>
  token === null ? undefined : Buffer.from(token, 'base64url').toString()

const encodeKey = (key: string): string => encodeURIComponent(key).replaceAll('%2F', '/')
