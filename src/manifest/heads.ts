/**
 * How far each writer's segments are known: its first so many. A writer numbers its segments
 * without gaps and writes one only when the one before is there, so a count says which they are.
 */
import type { SegmentName } from './names.ts'

export type Heads = ReadonlyMap<string, number>

export const includes = (heads: Heads, { writer, seq }: SegmentName): boolean =>
  seq < (heads.get(writer) ?? 0)

/** Whether everything in `part` is in `whole`. */
export const covers = (whole: Heads, part: Heads): boolean =>
  [...part].every(([writer, count]) => count <= (whole.get(writer) ?? 0))

export function raise(heads: Map<string, number>, by: Heads): void {
  for (const [writer, count] of by) {
    if (count > (heads.get(writer) ?? 0)) heads.set(writer, count)
  }
}

/**
 * The first segments that must have been written and are not there: below one that is, or below
 * what was written as far as anybody knows.
 *
 * @param known   covered by a snapshot that was read
 * @param listed  what lies in the store
 * @param seen    what is known to have been written: seen by other writers, or noted
 */
export function absent(
  known: Heads,
  listed: readonly SegmentName[],
  seen: Heads = new Map(),
): readonly SegmentName[] {
  const ends = new Map(known)
  const seqs = new Map<string, Set<number>>()
  for (const { writer, seq } of listed) {
    const of = seqs.get(writer) ?? new Set()
    seqs.set(writer, of.add(seq))
    if (seq + 1 > (ends.get(writer) ?? 0)) ends.set(writer, seq + 1)
  }
  raise(ends, seen)
  const gaps: SegmentName[] = []
  for (const [writer, end] of ends) {
    let seq = known.get(writer) ?? 0
    while (seq < end && seqs.get(writer)?.has(seq)) seq++
    if (seq < end) gaps.push({ writer, seq })
  }
  return gaps
}
