import { writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { Bridge } from '../../protocol/bridge.ts'
import { packError, reviveFailure } from '../../protocol/packed-error.ts'
import { systemClock, within } from '../../src/clock.ts'
import { isFailure } from '../../src/failure.ts'
import { type HostBirth, type HostWord, portsFd } from './host-words.ts'
import { Thread } from './thread.ts'
import type { End } from './vessel.ts'

/**
 * The entry of a process that holds one actor. The actor runs on a thread of it, as it would in the
 * supervisor's process; this thread computes nothing, and so can tell of the actor's life, and end
 * the process when its supervisor has gone, while the actor is inside native code.
 */

const pulseMs = 100
/** For what an actor posted last to come to its readers. */
const lastWordsMs = 1_000
/** Of −1000 to 1000: where memory runs out, this process goes before its supervisor. */
const goesFirst = '500'

/** Not by an exit: that would run what native code keeps for its end, and may abort or hang. */
const die = () => process.kill(process.pid, 'SIGKILL')

const tell = (word: HostWord): Promise<void> =>
  new Promise((resolve) => process.send?.(word, () => resolve()))

function hold(birth: HostBirth): void {
  process.title = `draftsmith ${birth.id}`
  const thread = new Thread({
    spec: { ...birth, entry: new URL(birth.entry) },
    generation: birth.generation,
    clock: systemClock,
    log: birth.log,
    onEnd: (end) => void ended(end, bridge),
  })
  const bridge = new Bridge(new Socket({ fd: portsFd }), {
    side: -1,
    first: thread.control,
    onOverfull: (error) => void tell({ code: 1, error: packError(error) }).then(die),
  })
  let beats = -1
  setInterval(() => {
    const pulse = thread.reading()
    if (pulse.beats !== beats) void tell({ pulse })
    beats = pulse.beats
  }, pulseMs)
}

async function ended({ code, error }: End, bridge: Bridge): Promise<void> {
  try {
    await within(lastWordsMs, 'the last messages', bridge.closed())
  } catch (late) {
    if (!isFailure(late)) throw late
  }
  const thrown = error === undefined ? undefined : packError(reviveFailure(error) ?? error)
  await tell({ code: code ?? 1, error: thrown })
  die()
}

// A terminal's Ctrl-C comes to all of its processes: the supervisor's word counts.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
// Without its supervisor nobody would hear of what is computed here.
process.on('disconnect', die)
if (!process.connected) die()
preferAsVictim()
process.once('message', hold)

/** Of no effect where the system has no such file. */
function preferAsVictim(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', goesFirst)
  } catch {
    return
  }
}
