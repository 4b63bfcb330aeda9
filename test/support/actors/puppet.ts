import { transfer } from '../../../protocol/channel.ts'
import type { Handlers } from '../../../protocol/contract.ts'
import { actor } from '../../../protocol/lifecycle.ts'
import { sleep } from '../../../src/clock.ts'
import { Failure } from '../../../src/failure.ts'
import { type PuppetInput, puppetContract, type Way } from './puppet-contract.ts'

const self = actor<PuppetInput>()
const { counts, failingStarts = 0, shortLives, mute, drainTakesMs = 0 } = self.input
const { startFailure = 'unavailable', beatsAtStart = 0 } = self.input

if (self.generation <= failingStarts) {
  throw new Failure(startFailure, 'no such model. path=/nowhere', {
    remedy: 'Give a path that is there.',
    cause: new Error('ENOENT'),
  })
}

for (let i = 0; i < beatsAtStart; i++) self.pulse.beat('starting')

const ends: Readonly<Record<Way, () => void>> = {
  'exit 0': () => process.exit(0),
  'exit 3': () => process.exit(3),
  throw: () => {
    setTimeout(() => {
      throw new Error('thrown later')
    })
  },
  reject: () => {
    void Promise.reject(new Failure('corrupt', 'a rejection that nobody handles'))
  },
  bug: () => {
    throw new TypeError('a bug in a handler')
  },
  abort: () => {
    process.kill(process.pid, 'SIGABRT')
    // The signal may take a moment; nothing must happen after it.
    spin(60_000)
  },
  hang: () => undefined,
}

const grownBytes = 8 * 2 ** 20
const never = new Promise<never>(() => undefined)

function spin(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

const askers: string[] = []

const handlers: Handlers<typeof puppetContract> = {
  generation: () => self.generation,
  pid: () => process.pid,
  echo: (given) => transfer({ ...given }, [given.floats.buffer]),
  lastWords: (way) => {
    for (let i = 0; i < 2_000; i++) self.log.info({ i }, 'a line')
    self.log.fatal({ i: 2_000 }, 'the last line')
    ends[way]()
  },
  grow: () => {
    const taken: Uint8Array[] = []
    for (;;) taken.push(new Uint8Array(grownBytes).fill(taken.length + 1))
  },
  unclonable: () => () => undefined,
  askers: () => askers,
  job: (way) => {
    // A process has counts of its own: its later lives have begun one before.
    const begun = Math.max(Atomics.add(counts, 0, 1) + 1, self.generation)
    if (begun > 1) return begun
    ends[way]()
    return never
  },
  die: (way) => ends[way](),
  block: ({ ms, announcedMs }) => {
    if (announcedMs !== undefined) self.pulse.busy('spinning', announcedMs)
    spin(ms)
    self.pulse.idle()
  },
  insideGate: ({ ms, announcedMs }) => {
    if (announcedMs !== undefined) self.pulse.busy('inside', announcedMs)
    self.gate.enter()
    spin(ms)
    self.gate.leave()
    self.pulse.idle()
  },
}

self.serve(
  puppetContract,
  ({ id }) => {
    askers.push(`asked by ${id}`)
    return handlers
  },
  { closed: ({ id }) => askers.push(`closed ${id}`) },
)

// One that waits for something all its life: with nobody to ask it, its thread would end by itself.
if (mute) setInterval(() => undefined, 60_000)
else {
  self.live({
    drain: async () => {
      Atomics.add(counts, 1, 1)
      await sleep(drainTakesMs)
    },
    status: () => ({ work: 'waiting to be told' }),
  })
}

if (shortLives && self.generation <= shortLives.lives) {
  setTimeout(ends[shortLives.way], shortLives.afterMs)
}
