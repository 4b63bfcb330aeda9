/**
 * How a thread shows life while it can answer nothing: a few words of shared memory which it writes
 * and its supervisor reads. Beats are counted, not timed: the two need not agree on a clock, and a
 * machine that slept looks like one that did not.
 */

const textBytesMax = 96

const word = { beats: 0, version: 1, announced: 2, busyMs: 3, busyBytes: 4, workBytes: 5, gate: 6 }
const wordCount = 7
const busyAt = wordCount * Int32Array.BYTES_PER_ELEMENT
const workAt = busyAt + textBytesMax
const totalBytes = workAt + textBytesMax

/** A reader that meets a writer tries again so often; then the writer died amid its writing. */
const triesMax = 100

export interface PulseReading {
  /** Grows with each sign of life. */
  readonly beats: number
  /** Grows with each announcement. */
  readonly announced: number
  /** What may block the thread, for how long from its announcement; undefined where it is idle. */
  readonly busy: { readonly work: string; readonly deadlineMs: number } | undefined
  /** What the actor says it is at; empty where it says nothing. */
  readonly work: string
}

export class Pulse {
  /** One word, for the Gate that both sides make of it. */
  readonly gateWord: Int32Array<SharedArrayBuffer>
  readonly memory: SharedArrayBuffer
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #bytes: Uint8Array<SharedArrayBuffer>

  constructor(memory = new SharedArrayBuffer(totalBytes)) {
    this.memory = memory
    this.#words = new Int32Array(memory, 0, wordCount)
    this.#bytes = new Uint8Array(memory)
    this.gateWord = this.#words.subarray(word.gate, word.gate + 1)
  }

  /** The thread is alive, and at `work`. */
  beat(work: string): void {
    this.#write(() => this.#writeText(workAt, word.workBytes, work))
  }

  /**
   * Before what may block the thread: no beat is awaited until `idle`, or until the deadline has
   * passed, when the thread is ended. Announcing again starts a new deadline.
   *
   * @param work        what for: 96 bytes of it are kept
   * @param deadlineMs  from now, whole milliseconds
   */
  busy(work: string, deadlineMs: number): void {
    this.#write(() => {
      Atomics.add(this.#words, word.announced, 1)
      Atomics.store(this.#words, word.busyMs, Math.max(1, Math.ceil(deadlineMs)))
      this.#writeText(busyAt, word.busyBytes, work)
    })
  }

  idle(): void {
    this.#write(() => Atomics.store(this.#words, word.busyMs, 0))
  }

  read(): PulseReading {
    for (let tries = 0; ; tries++) {
      const version = Atomics.load(this.#words, word.version)
      const reading = this.#readOnce()
      const whole = version % 2 === 0 && version === Atomics.load(this.#words, word.version)
      if (whole || tries === triesMax) return reading
    }
  }

  /** An odd version says that a write is under way. */
  #write(change: () => void): void {
    Atomics.add(this.#words, word.version, 1)
    change()
    Atomics.add(this.#words, word.beats, 1)
    Atomics.add(this.#words, word.version, 1)
  }

  #writeText(at: number, lengthWord: number, text: string): void {
    // Into memory of its own first: no text is encoded into shared memory. Whole characters only.
    const bytes = new Uint8Array(textBytesMax)
    const { written } = new TextEncoder().encodeInto(text, bytes)
    this.#bytes.set(bytes, at)
    Atomics.store(this.#words, lengthWord, written)
  }

  #readOnce(): PulseReading {
    const deadlineMs = Atomics.load(this.#words, word.busyMs)
    const work = this.#readText(busyAt, word.busyBytes)
    return {
      beats: Atomics.load(this.#words, word.beats),
      announced: Atomics.load(this.#words, word.announced),
      busy: deadlineMs === 0 ? undefined : { work, deadlineMs },
      work: this.#readText(workAt, word.workBytes),
    }
  }

  #readText(at: number, lengthWord: number): string {
    const length = Math.min(textBytesMax, Atomics.load(this.#words, lengthWord))
    return new TextDecoder().decode(this.#bytes.slice(at, at + length))
  }
}
