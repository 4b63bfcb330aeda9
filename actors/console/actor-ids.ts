import type { ActorStatus } from '../../protocol/console.ts'

/** The threads and processes of the tree, supervisors left out. */
export function actorIds(at: ActorStatus | null): string[] {
  if (!at) return []
  return at.children.length === 0 ? [at.id] : at.children.flatMap(actorIds)
}
