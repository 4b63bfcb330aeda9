import type { ChildSpec, SupervisorSpec } from '../../protocol/child.ts'
import { Failure } from '../../src/failure.ts'

/** What must hold of a spec before anything starts. */

/**
 * @throws Failure `invalid`: an id that is taken or that nobody has, or actors that drain after
 *         each other in a circle
 */
export function checkSpec(root: SupervisorSpec): void {
  const ids = new Set<string>()
  for (const id of idsOf(root)) {
    if (ids.has(id)) throw invalid(`two children have one id. id=${id}`)
    ids.add(id)
  }
  const actors = new Map(actorsOf(root).map((actor) => [actor.id, actor]))
  for (const { id, asks, drainsAfter } of actors.values()) {
    const unknown = [...asks, ...drainsAfter].find((named) => !actors.has(named) || named === id)
    if (unknown !== undefined) {
      throw invalid(`a child names what is no other actor. child=${id}, named=${unknown}`)
    }
  }
  for (const id of actors.keys()) checkDrains(id, actors, [])
}

/** The actors of a spec, in the order they start. */
export function actorsOf(spec: SupervisorSpec): readonly ChildSpec[] {
  return spec.children.flatMap((child) => ('children' in child ? actorsOf(child) : [child]))
}

function idsOf(spec: SupervisorSpec): readonly string[] {
  const below = spec.children.flatMap((child) => ('children' in child ? idsOf(child) : [child.id]))
  return [spec.id, ...below]
}

function checkDrains(
  id: string,
  actors: ReadonlyMap<string, ChildSpec>,
  path: readonly string[],
): void {
  if (path.includes(id)) {
    throw invalid(`actors drain after each other. circle=${[...path, id].join(' after ')}`)
  }
  for (const before of actors.get(id)?.drainsAfter ?? []) checkDrains(before, actors, [...path, id])
}

const invalid = (message: string): Failure => new Failure('invalid', message)
