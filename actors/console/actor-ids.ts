import type { ActorStatus } from '../../protocol/console.ts'

/** The threads and processes of the tree, supervisors left out. */
export function actorIds(at: ActorStatus | null): string[] {
  if (!at) return []
  return at.children.length === 0 ? [at.id] : at.children.flatMap(actorIds)
}

/** The actor of that id; undefined where there is none. */
export function actorOf(at: ActorStatus | null, id: string): ActorStatus | undefined {
  if (!at || at.id === id) return at ?? undefined
  for (const child of at.children) {
    const found = actorOf(child, id)
    if (found) return found
  }
  return undefined
}
