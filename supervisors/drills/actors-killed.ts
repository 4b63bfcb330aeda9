import type { Drill } from './drill.ts'
import type { Crash } from './rig/crash.ts'
import type { Rig } from './rig/rig.ts'
import { ask, statusWhen } from './rig/socket.ts'

/** An actor's thread ends, at once and without a word, at named points of its work. */

type Point = Required<Pick<Crash, 'at' | 'hit'>> & Pick<Crash, 'laterMs'>

const about = {
  extractor: 'A native fault in a driver ends whatever computes. Only its batch may be lost.',
  uploader: 'A sample that is stored and not named would be lost, or never leave the disk.',
  ledger: 'It alone knows what is committed. What it forgets would be computed or kept for ever.',
  reader: 'It hands out all work. A batch that it forgets is lost, one lent twice is paid twice.',
} as const

/** Ends it at each of these, once. */
const killedAt = (drill: Omit<Drill, 'run'>, points: readonly Point[]): Drill => ({
  ...drill,
  async run(rig) {
    const running = rig.start(points.map((point): Crash => ({ ...point, end: 'exit' })))
    await rig.completes(running)
    const { actors, processes } = (await rig.figures()).restarts
    rig.check('it met each of these points', rig.deaths === points.length, `${rig.deaths} met`)
    rig.check('its supervisor started it again each time', actors >= points.length, `${actors}`)
    rig.check('the process lived on', processes === 0, `${processes} restarts`)
  },
})

export const extractorKilled = killedAt(
  {
    name: 'extractor-killed',
    breaks: 'An extractor ends before it computes, while it is busy, and with its states computed.',
    matters: about.extractor,
    seconds: 15,
  },
  [
    { at: 'extractor.claimed', hit: 2 },
    { at: 'extractor.busy', hit: 3 },
    { at: 'extractor.computed', hit: 4 },
  ],
)

export const extractorKilledInRename = killedAt(
  {
    name: 'extractor-killed-around-rename',
    breaks: "An extractor ends before a file's rename into the spool, and right after one.",
    matters: 'Half a file must never be taken for a sample, and a whole one never be thrown away.',
    seconds: 15,
  },
  [
    { at: 'spool.before-rename', hit: 9 },
    { at: 'spool.renamed', hit: 9 },
  ],
)

export const uploaderKilled = killedAt(
  {
    name: 'uploader-killed-before-commit',
    breaks:
      'An uploader ends before a put, once the store has a sample, and once that is confirmed.',
    matters: about.uploader,
    seconds: 20,
  },
  [
    { at: 'uploader.before-put', hit: 4 },
    { at: 'uploader.put', hit: 5 },
    { at: 'uploader.confirmed', hit: 6 },
  ],
)

const inPut = killedAt(
  {
    name: 'uploader-killed-in-put',
    breaks: 'An uploader ends with samples on their way to a store that takes 0.4 s for each.',
    matters:
      'Nobody is left to hear whether they arrived. They must be sent again, and named once.',
    seconds: 20,
    needs: ['embedded'],
  },
  [{ at: 'uploader.before-put', hit: 9, laterMs: 100 }],
)

export const uploaderKilledInPut: Drill = {
  ...inPut,
  async run(rig) {
    const match = { operation: 'PutObject', key: 'hidden-states/' }
    await rig.s3.setFaults([{ kind: 'delay', ms: 400, times: 40, match }])
    await inPut.run(rig)
    const { sentTwice } = await rig.figures()
    const objects = sentTwice?.objects ?? 0
    rig.check('it ended in the middle of puts', objects > 0, 'nothing was sent again')
  },
}

export const ledgerKilledBefore = killedAt(
  {
    name: 'ledger-killed-before-commit',
    breaks: 'The ledger ends when it has heard of a stored sample, and before it writes a segment.',
    matters: about.ledger,
    seconds: 20,
  },
  [
    { at: 'ledger.stored', hit: 12 },
    { at: 'manifest.before-put', hit: 2 },
  ],
)

export const ledgerKilledAfter = killedAt(
  {
    name: 'ledger-killed-after-commit',
    breaks: 'The ledger ends with a segment written, before a file is removed, and after one is.',
    matters: about.ledger,
    seconds: 20,
  },
  [
    { at: 'manifest.put', hit: 1 },
    { at: 'ledger.before-remove', hit: 3 },
    { at: 'ledger.removed', hit: 4 },
  ],
)

export const ledgerKilledInCompaction = killedAt(
  {
    name: 'ledger-killed-in-compaction',
    breaks:
      'The ledger ends as it begins to write a snapshot of the manifest, and with one written.',
    matters: about.ledger,
    seconds: 20,
    needs: ['demo'],
    // Each sample has a segment; every 64 segments become a snapshot.
    job: { freely: { commit: { every: 1, seconds: 1 } } },
  },
  [
    { at: 'manifest.before-snapshot', hit: 1 },
    { at: 'manifest.snapshot', hit: 1 },
  ],
)

export const readerKilled = killedAt(
  {
    name: 'reader-killed',
    breaks: 'The reader ends as it lends a batch, before whoever asked has it.',
    matters: about.reader,
    seconds: 15,
  },
  [{ at: 'reader.lent', hit: 5 }],
)

/** Every order comes in mid-run. */
const slow = { slow: { at: 'extractor.computed', ms: 150 } }

export const actorsKilledByOrder: Drill = {
  name: 'actors-killed-by-order',
  breaks: 'kill ACTOR, to each kind of actor in turn, as a person types it.',
  matters:
    'An order must end the real thread, wait for native code, and cost no more than a crash.',
  seconds: 20,
  async run(rig) {
    const running = rig.start(slow)
    const order = Object.entries(work)
    for (const [index, [actor, by]] of order.entries()) {
      await killByOrder(rig, { running, actor, by, index })
    }
    await rig.completes(running)
    const { actors, processes } = (await rig.figures()).restarts
    const restarts = `${actors} of ${order.length}`
    rig.check('each was started again, once', actors >= order.length, restarts)
    rig.check('the process lived on', processes === 0, `${processes} restarts`)
  },
}

/** What shows that another is at it. */
const work: Readonly<Record<string, readonly string[]>> = {
  'extractor/0': ['extractor.computed'],
  'uploader/0': ['uploader.put'],
  ledger: ['ledger.stored', 'manifest.put'],
  reader: ['reader.lent'],
}

interface Order {
  readonly running: ReturnType<Rig['start']>
  readonly actor: string
  readonly by: readonly string[]
  readonly index: number
}

async function killByOrder(rig: Rig, { running, actor, by, index }: Order): Promise<void> {
  // The last of the four with most of the work still to do.
  const enough = (rig.calm.samples * (index + 1)) / 12
  await statusWhen(running, rig.job, ({ state, ledger }) => {
    return (
      state === 'running' && (ledger?.spooled.samples ?? 0) + (ledger?.committed ?? 0) >= enough
    )
  })
  const said = await ask(rig.job, `kill ${actor}`)
  rig.blow('thread', by)
  rig.check('each was ended', /was ended/.test(said), `${actor}: ${said}`)
}
