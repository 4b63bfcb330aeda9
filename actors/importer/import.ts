import type { Settled } from '../../protocol/ledger.ts'
import type { SampleRef } from '../../protocol/sample.ts'
import type { FileOutcome, ImporterStatus } from '../../protocol/source.ts'
import { type Clock, sleep } from '../../src/clock.ts'
import { Owners } from '../../src/dataset/owners.ts'
import type { Log } from '../../src/log.ts'
import { isLeft } from '../../src/sample/earlier.ts'
import { FilesOfRows } from './files-of-rows.ts'
import type { LeftAlone } from './left-alone.ts'
import type { Proved, Take } from './take.ts'

/** Headers looked at together: what they prove is read in groups of few bytes. */
const lookAhead = 64
const atOnce = 4
const groupBytesMax = 32 * 2 ** 20
const pausedMs = 100

export interface ImporterParts {
  /** As `findFiles` gives them. */
  readonly files: readonly string[]
  readonly take: Take
  readonly leftAlone: LeftAlone
  readonly clock: Clock
  readonly log: Log
  /** Bytes that the spool may hold. */
  readonly maxBytes: number
  /** 16 bytes for each row of which there is a file: stored, or on its way. */
  readonly present: () => Promise<Uint8Array>
  /** Settles when there is room for so many bytes, or answers false after a while. */
  readonly room: (bytes: number) => Promise<boolean>
  readonly spooled: (samples: readonly SampleRef[]) => Promise<void>
  readonly settled: () => Promise<Settled>
}

/**
 * Looks at every file, and takes those that prove a row of which nothing is stored. Whoever starts
 * it again starts from the first file: what was taken is known by then, and told by its token ids.
 */
export class Importer {
  readonly #parts: ImporterParts
  #maxBytes: number
  #state: 'importing' | 'paused' | 'draining' | 'finished' = 'importing'
  #present = new Owners()
  /** Those that were taken, or whose row was there. */
  #counted = new FilesOfRows()
  #examined = 0
  #there = 0
  #imported = 0
  #inHand = 0
  #outcome: FileOutcome | null = null

  constructor(parts: ImporterParts) {
    this.#parts = parts
    this.#maxBytes = parts.maxBytes
  }

  /** So many bytes from now on. */
  spoolHolds(bytes: number): void {
    this.#maxBytes = bytes
  }

  get work(): string {
    if (this.#state !== 'importing') return this.#state
    return `${this.#examined} of ${this.#parts.files.length} files, ${this.#inHand} in hand`
  }

  /** Settles when every file has come to its end, or when told to drain. */
  async run(): Promise<void> {
    const { leftAlone, log, present } = this.#parts
    let lost = Number.POSITIVE_INFINITY
    while (lost > 0) {
      leftAlone.begin()
      this.#present = Owners.of(await present())
      await this.#takeAll()
      const settled = await this.#settle()
      if (settled === undefined) return
      // A spooled file that was torn must be taken once more, also one of an earlier start.
      lost = this.#counted.lacking(Owners.of(await present()))
      if (lost > 0) log.warn({ samples: lost }, 'some files must be taken again')
      else this.#finish(settled)
    }
  }

  /** A paused importer takes no more files; those in hand go on. */
  pause(paused: boolean): void {
    if (paused && this.#state === 'importing') this.#state = 'paused'
    if (!paused && this.#state === 'paused') this.#state = 'importing'
  }

  drain(): void {
    this.#state = 'draining'
  }

  status(): ImporterStatus {
    const { files, leftAlone } = this.#parts
    return {
      of: 'files',
      files: files.length,
      examined: this.#examined,
      found: this.#there,
      imported: this.#imported,
      inHand: this.#inHand,
      leftAlone: Object.fromEntries(leftAlone.counts),
      outcome: this.#outcome,
    }
  }

  /** Settles early when told to drain. */
  async #takeAll(): Promise<void> {
    const { files } = this.#parts
    this.#examined = 0
    this.#there = 0
    this.#imported = 0
    this.#counted = new FilesOfRows()
    for (let at = 0; at < files.length; at += lookAhead) {
      if (!(await this.#mayGoOn())) return
      const proved = await this.#look(files.slice(at, at + lookAhead))
      for (const group of this.#groups(proved)) {
        if (!(await this.#hasRoom(bytesOf(group)))) return
        await this.#spool(this.#lacking(group))
      }
    }
  }

  async #look(paths: readonly string[]): Promise<Proved[]> {
    const { take, leftAlone } = this.#parts
    const looks = await each(paths, (path) => take.prove(path))
    const proved: Proved[] = []
    for (const [i, look] of looks.entries()) {
      if (isLeft(look)) {
        leftAlone.add(paths[i], look)
        continue
      }
      proved.push(look)
    }
    this.#examined += paths.length
    this.#inHand = proved.length
    return this.#lacking(proved)
  }

  /** Without those that are there already. */
  #lacking(proved: readonly Proved[]): Proved[] {
    const lacking = proved.filter(({ hash }) => {
      const isThere = this.#present.has(hash)
      if (isThere) this.#counted.add(hash)
      return !isThere
    })
    this.#there += proved.length - lacking.length
    this.#inHand -= proved.length - lacking.length
    return lacking
  }

  /**
   * Small, so that the spool is emptied while it is filled; and never two files of one row, for
   * the second is of use only where the first is not.
   */
  *#groups(proved: readonly Proved[]): Generator<Proved[]> {
    const bytesMax = Math.min(groupBytesMax, this.#maxBytes)
    let group: Proved[] = []
    for (const one of proved) {
      const isTwin = group.some(({ hash }) => Buffer.compare(hash, one.hash) === 0)
      if (isTwin || (group.length > 0 && bytesOf(group) + one.bytesMax > bytesMax)) {
        yield group
        group = []
      }
      group.push(one)
    }
    if (group.length > 0) yield group
  }

  /** Waits while it is paused. False when told to drain. */
  async #mayGoOn(): Promise<boolean> {
    while (this.#state === 'paused') await sleep(pausedMs, this.#parts.clock)
    return this.#state !== 'draining'
  }

  /** False when told to drain. */
  async #hasRoom(bytes: number): Promise<boolean> {
    while (await this.#mayGoOn()) if (await this.#parts.room(bytes)) return true
    return false
  }

  async #spool(group: readonly Proved[]): Promise<void> {
    const { leftAlone, spooled, take } = this.#parts
    const ends = await each(group, (proved) => take.spool(proved))
    const samples: SampleRef[] = []
    for (const [i, end] of ends.entries()) {
      if (end === null) continue
      if (isLeft(end)) leftAlone.add(group[i].path, end)
      else samples.push(end)
    }
    await spooled(samples)
    this.#imported += samples.length
    this.#inHand -= group.length
    for (const sample of samples) {
      const hash = Buffer.from(sample.hash, 'hex')
      this.#present.claim(hash, 0)
      this.#counted.add(hash)
    }
  }

  /** What did not end in the store; undefined when told to drain. */
  async #settle(): Promise<Settled | undefined> {
    while (this.#state !== 'draining') {
      const settled = await this.#parts.settled()
      if (settled.kind === 'settled') return settled
    }
    return undefined
  }

  /** In files: none is of a quarantined row, for what could be taken of such a row was stored. */
  #finish(settled: Settled): void {
    const failed = settled.failed
      .map((hash) => this.#counted.of(Buffer.from(hash, 'hex')))
      .reduce((sum, files) => sum + files, 0)
    this.#outcome = { committed: this.#imported + this.#there - failed, failed }
    this.#state = 'finished'
  }
}

const bytesOf = (group: readonly Proved[]): number =>
  group.reduce((sum, { bytesMax }) => sum + bytesMax, 0)

/** Few at once; the results in order. */
async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const queue = items.entries()
  const worker = async () => {
    for (const [i, item] of queue) results[i] = await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return results
}
