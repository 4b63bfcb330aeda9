import { drillGround, testDrills } from '../support/crash/held-drills.ts'

/** An actor ends at named points of its work, or by order: some of those that `--all` holds. */
testDrills(await drillGround(), ['actors-killed-by-order'])
