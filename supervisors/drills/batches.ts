import { join } from 'node:path'
import type { Drill } from './drill.ts'
import type { Rig } from './rig/rig.ts'

/** What a batch, or the code that computes it, does to its extractor. */

const lost = 'Only the batch in hand may be lost, and the night goes on.'

const inThread = (end: 'abort' | 'memory', breaks: string): Drill => ({
  name: end === 'abort' ? 'extractor-aborts' : 'extractor-out-of-memory',
  breaks,
  matters: `No program can catch that. ${lost}`,
  seconds: 20,
  async run(rig) {
    await rig.completes(rig.start({ at: 'extractor.computed', hit: 4, end }))
    const { processes } = (await rig.figures()).restarts
    rig.check('its launcher started the process again', processes === 1, `${processes} times`)
  },
})

export const extractorAborts = inThread(
  'abort',
  "A native abort in an extractor's thread, which takes the whole process along.",
)

export const extractorMemory = inThread(
  'memory',
  "An extractor's thread takes a gigabyte, and the kernel kills the whole process.",
)

const isolated = { freely: { extract: { isolation: 'process' } } }

const inProcess = (end: 'abort' | 'memory', breaks: string): Drill => ({
  name: end === 'abort' ? 'extractor-process-aborts' : 'extractor-process-out-of-memory',
  breaks,
  matters: `Under isolation: process it must cost that actor alone. ${lost}`,
  seconds: 15,
  job: isolated,
  async run(rig) {
    await rig.completes(rig.start({ at: 'extractor.computed', hit: 3, end }))
    const { actors, processes } = (await rig.figures()).restarts
    rig.check('its supervisor started it again', actors > 0, `${actors} times`)
    rig.check('the process of the run lived on', processes === 0, `${processes} restarts`)
  },
})

export const extractorProcessAborts = inProcess(
  'abort',
  "A native abort in an extractor's own process.",
)

export const extractorProcessMemory = inProcess(
  'memory',
  "An extractor's own process takes a gigabyte, and is killed as the kernel kills.",
)

const hangs = (drill: Omit<Drill, 'run' | 'matters'>, at: string): Drill => ({
  ...drill,
  matters: 'A thread that hangs looks like one that works: who only waits, waits for ever.',
  async run(rig) {
    await rig.completes(rig.start({ at, hit: 3, end: 'hang' }))
    const { actors, processes } = (await rig.figures()).restarts
    const found = `${actors} actors, ${processes} processes`
    rig.check('it was ended and started again', actors + processes > 0, found)
  },
})

export const extractorHangs = hangs(
  {
    name: 'extractor-hangs',
    breaks: 'An extractor computes for ever before its batch, and answers nobody.',
    seconds: 45,
  },
  'extractor.claimed',
)

export const extractorLate = hangs(
  {
    name: 'extractor-past-its-deadline',
    breaks: 'An extractor has announced a batch, and never comes back from it.',
    seconds: 135,
  },
  'extractor.busy',
)

/** Which of the dataset's samples kills. */
const poisonOf = ({ calm }: Rig): string => [...calm.hashes].sort()[5] ?? ''

export const poisonSample: Drill = {
  name: 'poison-sample',
  breaks: "One sample aborts whatever computes it, every time, in an extractor's own process.",
  matters: 'One bad row in 914,000 must cost one row, not the run.',
  seconds: 25,
  job: { rows: 24, ...isolated },
  async run(rig) {
    const poison = poisonOf(rig)
    const during = { spool: join(rig.job.work, 'spool'), hashes: [poison] }
    const at = 'spool.before-rename'
    await rig.exits(rig.start({ at, during, end: 'abort', always: true }), 1)
    const { entries } = await rig.ends()
    const quarantined = entries.filter(({ status }) => status === 'quarantined')
    const found = quarantined.map(({ hash }) => hash)
    const isAlone = found.length === 1 && found[0] === poison
    rig.check('it alone is quarantined, and all others are stored', isAlone, ...found)
    const { processes } = (await rig.figures()).restarts
    rig.check('the process of the run lived on', processes === 0, `${processes} restarts`)
  },
}

export const restartStorm: Drill = {
  name: 'restart-storm',
  breaks: 'Whatever is computed aborts: each start dies at its next batch.',
  matters: 'A machine that is broken must be given up soon, with all that was stored committed.',
  seconds: 30,
  async run(rig) {
    await rig.killed(rig.start({ at: 'ledger.removed', hit: 20, end: 'all' }))
    const storm = rig.start({ at: 'extractor.computed', end: 'abort', always: true })
    await rig.exits(storm, 4)
    const { entries, spooled } = await rig.look()
    const waiting = spooled.filter(({ hash }) => !entries.has(hash)).map(({ hash }) => hash)
    rig.check('all that was stored is committed', waiting.length === 0, ...waiting)
    await rig.completes()
  },
}
