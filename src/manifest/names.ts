/** Names under `manifest/`: who wrote a segment, and as its which. */
import type { Clock, Random } from '../clock.ts'

export const segmentsPrefix = 'manifest/segments/'
export const snapshotsPrefix = 'manifest/snapshots/'
/** How many segments of each writer were written. */
export const writtenKey = 'manifest/written.json'

/** One segment: the `seq`th, from 0, that this writer wrote. */
export interface SegmentName {
  readonly writer: string
  readonly seq: number
}

const idPattern = /^\d{8}t\d{9}z-[0-9a-f]{12}$/
const segmentPattern = /^manifest\/segments\/([^/]+)\/(\d{8,})\.arrow$/
const snapshotPattern = /^manifest\/snapshots\/([^/]+)\.arrow$/

/**
 * A name that no other start will take: its moment, so that names sort by time, and 48 bits of
 * chance. Such as `20261105t101112345z-9f3a2b1c0d4e`.
 */
export function newWriterId(clock: Clock, random: Random): string {
  const moment = new Date(clock.now()).toISOString().toLowerCase().replace(/[-:.]/g, '')
  const chance = [random(), random()].map((r) =>
    Math.floor(r * 2 ** 24)
      .toString(16)
      .padStart(6, '0'),
  )
  return `${moment}-${chance.join('')}`
}

export const isWriterId = (text: string): boolean => idPattern.test(text)

export const segmentKey = ({ writer, seq }: SegmentName): string =>
  `${segmentsPrefix}${writer}/${String(seq).padStart(8, '0')}.arrow`

export const snapshotKey = (id: string): string => `${snapshotsPrefix}${id}.arrow`

/** Undefined for a key that no writer makes. */
export function parseSegmentKey(key: string): SegmentName | undefined {
  const match = segmentPattern.exec(key)
  if (!match?.[1] || !match[2] || !isWriterId(match[1])) return undefined
  const name = { writer: match[1], seq: Number(match[2]) }
  return segmentKey(name) === key ? name : undefined
}

export function parseSnapshotKey(key: string): string | undefined {
  const id = snapshotPattern.exec(key)?.[1]
  return id !== undefined && isWriterId(id) ? id : undefined
}
