/** Batches of one shape as one, with one more axis in front; and what came of them, apart again. */
import type { Feed, Feeds } from '../session/feed.ts'
import type { MicroBatch } from './engine.ts'
import type { Results } from './results.ts'

type Floats = Results['loss']

export function stackedFeeds(batches: readonly MicroBatch[]): Feeds {
  const all = batches.map(({ feeds }) => feeds)
  return Object.fromEntries(
    Object.keys(all[0]).map((name) => [name, joined(all.map((feeds) => feeds[name]))]),
  )
}

/** Where results are written: `unstack` brings them to where the batches want them. */
export function stackedPlaces(batches: readonly MicroBatch[]): Readonly<Record<string, Floats>> {
  return Object.fromEntries(
    Object.entries(batches[0].results).map(([name, { shape, data }]) => {
      const all = new Float32Array(batches.length * data.length)
      return [name, { dtype: 'F32', shape: [batches.length, ...shape], data: all }]
    }),
  )
}

export function unstack(
  places: Readonly<Record<string, Floats>>,
  batches: readonly MicroBatch[],
): void {
  for (const [i, { results }] of batches.entries()) {
    for (const [name, { data }] of Object.entries(results)) {
      data.set(places[name].data.subarray(i * data.length, (i + 1) * data.length))
    }
  }
}

function joined(feeds: readonly Feed[]): Feed {
  const [first] = feeds
  const shape = [feeds.length, ...first.shape]
  // Through their bytes: the three kinds of array are joined alike.
  const bytes = new Uint8Array(feeds.length * first.data.byteLength)
  feeds.forEach(({ data }, i) => {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), i * data.byteLength)
  })
  const { dtype } = first
  if (dtype === 'I64') return { dtype, shape, data: new BigInt64Array(bytes.buffer) }
  if (dtype === 'F32') return { dtype, shape, data: new Float32Array(bytes.buffer) }
  return { dtype, shape, data: new Uint16Array(bytes.buffer) }
}
