import { packError } from '../../protocol/packed-error.ts'
import { requireDevice } from '../../src/session/device.ts'
import { endSignals } from './signals.ts'

/** The entry of a process that tries a device, told by its arguments, and sends what it found. */

// A terminal's Ctrl-C comes to all of its processes: it is for the one that asks for this.
for (const signal of endSignals) process.on(signal, () => undefined)

const [device = '', work = ''] = process.argv.slice(2)
// Not by an exit: that would run what a driver keeps for its end, and may abort or hang.
const told = (found: unknown) => process.send?.(found, () => process.kill(process.pid, 'SIGKILL'))

requireDevice(device, work).then(
  () => told({ error: null }),
  (error: unknown) => told({ error: packError(error) }),
)
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
