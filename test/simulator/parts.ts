import type { SupervisorSpec } from '../../protocol/child.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import type { Start, Vessel } from '../../supervisors/engine/vessel.ts'
import { type Begins, realBegins } from './vessel.ts'

/** What of the product may be wrapped, or given other than it is: where faulty parts come in. */
export interface Parts {
  readonly begins: Begins
  /** Of an actor's surroundings, or the process's. */
  readonly around: (surroundings: Surroundings, whose: string) => Surroundings
  readonly start: (start: Start) => Start
  readonly vessel: (vessel: Vessel) => Vessel
  /** Of those who fill the spool. */
  readonly filling: (spec: SupervisorSpec) => SupervisorSpec
}

/** The product as it is. */
export const sound: Parts = {
  begins: realBegins,
  around: (surroundings) => surroundings,
  start: (start) => start,
  vessel: (vessel) => vessel,
  filling: (spec) => spec,
}
