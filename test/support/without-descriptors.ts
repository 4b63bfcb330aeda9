import { openSync } from 'node:fs'
import { systemClock } from '../../src/clock.ts'
import { hasCode } from '../../src/failure.ts'
import { refusalText } from '../../supervisors/display/answering.ts'
import { Process } from '../../supervisors/engine/process.ts'

/**
 * Run in a process of its own that may have few files open: starts an actor's process when there
 * can be no more of them, and prints how that ended.
 */

try {
  for (;;) openSync('/dev/null', 'r')
} catch (error) {
  if (!hasCode(error, 'EMFILE')) throw error
}
const entry = new URL('data:text/javascript,')
new Process({
  spec: { id: 'puppet', entry, input: null, heartbeatMs: 1_000 },
  ...{ generation: 1, clock: systemClock, log: { level: 'info', stderr: 'none' } },
  onEnd: ({ error }) => console.log(refusalText(error)),
})
