import type { Fault, Scenario } from './scenario.ts'

/** A scenario that fails, cut down: without each fault and row that it fails without as well. */
export async function shrink(
  failing: Scenario,
  fails: (scenario: Scenario) => Promise<boolean>,
): Promise<Scenario> {
  let least = failing
  const tried = async (smaller: Scenario) => {
    if (!(await fails(smaller))) return false
    least = smaller
    return true
  }
  for (let size = Math.ceil(least.faults.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < least.faults.length; ) {
      const faults = without(least.faults, at, size)
      if (!(await tried({ ...least, faults }))) at += size
    }
  }
  while (least.rows > 1 && (await tried({ ...least, rows: least.rows - 1 })));
  for (const simpler of [{ uploaders: 1 }, { extractors: 1 }, { poison: null }, { nan: null }]) {
    await tried({ ...least, ...simpler })
  }
  return least
}

const without = (faults: readonly Fault[], at: number, count: number): Fault[] => [
  ...faults.slice(0, at),
  ...faults.slice(at + count),
]
