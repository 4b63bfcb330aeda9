import { begin as beginExtractor } from '../../actors/extractor/begin.ts'
import { begin as beginLedger } from '../../actors/ledger/begin.ts'
import { begin as beginReader } from '../../actors/reader/begin.ts'
import { begin as beginUploader } from '../../actors/uploader/begin.ts'
import type { Birth } from '../../protocol/control.ts'
import { type Actor, embody, type Host } from '../../protocol/lifecycle.ts'
import type { Port } from '../../protocol/port.ts'
import { Pulse, type PulseReading } from '../../protocol/pulse.ts'
import type { openDataset } from '../../src/dataset/shards.ts'
import type { Log } from '../../src/log.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import type { Start, Vessel } from '../../supervisors/engine/vessel.ts'
import { type Evil, loadSimulated } from './model.ts'
import { portPair } from './ports.ts'
import type { Life } from './world.ts'

/** An actor in a life of its own, on this thread. */

const startMaxMs = 20

/** What the actors of a process meet. */
export interface Inside {
  readonly log: Log
  readonly evil: Evil
  readonly openDataset: typeof openDataset
  readonly around: (life: Life) => Surroundings
  /** How an actor begins; a faulty part takes a place here. */
  readonly begins: Begins
}

/** The actors of a run that extracts, by the kind that their ids begin with. */
export interface Begins {
  readonly ledger: typeof beginLedger
  readonly uploader: typeof beginUploader
  readonly reader: typeof beginReader
  readonly extractor: typeof beginExtractor
}

/** Of runs that commit a dozen times, as others do thousands. */
const compaction = { every: 3, graceMs: 500 }

export const realBegins: Begins = {
  ledger: (self, around, parts) => beginLedger(self, around, { compaction, ...parts }),
  uploader: beginUploader,
  reader: beginReader,
  extractor: beginExtractor,
}

/** What is made into a vessel; `life`: the actor's. */
export interface Carried {
  readonly process: Life
  readonly start: Start
  readonly inside: Inside
  readonly life: Life
}

export class SimulatedVessel implements Vessel {
  readonly control: Port
  readonly pid = null
  readonly isInside = false
  readonly life: Life
  readonly #pulse = new Pulse()

  constructor({ process, start, inside, life }: Carried) {
    const { spec, generation, log, onEnd } = start
    const { port1, port2 } = portPair(process)
    this.control = port1
    this.life = life
    port2.heldBy(life)
    life.onEnd((error) => {
      const code = error === undefined ? 0 : 1
      life.world.plan(1, process, () => onEnd({ code, signal: null, error }))
    })
    const birth: Birth<unknown> = {
      id: spec.id,
      generation,
      input: structuredClone(spec.input),
      control: port2,
      pulse: this.#pulse.memory,
      beatMs: spec.heartbeatMs / 4,
      log,
    }
    const begun = () => {
      begin(birth, life, inside).catch((error: unknown) => life.world.died(life, error))
    }
    life.world.plan(life.world.draw() * startMaxMs, life, begun)
  }

  reading(): PulseReading {
    return this.#pulse.read()
  }

  async end(): Promise<boolean> {
    this.life.end('by order')
    return true
  }
}

/** The input of each kind is what its own child spec carries: the birth says which. */
async function begin(birth: Birth<unknown>, life: Life, inside: Inside): Promise<void> {
  const self = embody(birth as Birth<never>, hostOf(life, inside)) as Actor<never>
  const around = inside.around(life)
  const { begins, evil, openDataset } = inside
  const [kind] = birth.id.split('/')
  if (kind === 'ledger') await begins.ledger(self, around)
  else if (kind === 'uploader') await begins.uploader(self, around)
  else if (kind === 'reader') await begins.reader(self, { ...around, openDataset })
  else if (kind === 'extractor') {
    await begins.extractor(self, { ...around, loadModel: () => loadSimulated(life, evil) })
  } else throw new Error(`no such actor is simulated. id=${birth.id}`)
}

const hostOf = (life: Life, { log }: Inside): Host => ({
  clock: life.clock,
  openLog: ({ actor }) => log.child({ actor }),
  exit: () => void life.world.plan(0, life, () => life.end('leaves')),
  die: (error) =>
    void life.world.plan(0, life, () => {
      throw error
    }),
})
