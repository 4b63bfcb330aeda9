import { type ChildProcess, spawn } from 'node:child_process'
import { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { Bridge } from '../../protocol/bridge.ts'
import { unpackError } from '../../protocol/packed-error.ts'
import type { PulseReading } from '../../protocol/pulse.ts'
import type { Failure } from '../../src/failure.ts'
import { refusedStart } from '../refused-start.ts'
import { type HostBirth, type HostWord, portsFd } from './host-words.ts'
import type { End, Start, Vessel } from './vessel.ts'

const stderrFd = 2
/**
 * For the last words of one that has ended, and for one that was killed to end. A driver may keep
 * it from that, or what it has started keep its stream open; it does nothing more.
 */
const leaveMs = 10_000
const host = fileURLToPath(new URL('./host.js', import.meta.url))

/**
 * A child process with the actor in it: whatever ends it, native code or the system, ends nothing
 * else. It needs no gate.
 */
export class Process implements Vessel {
  readonly control: MessagePort
  readonly isInside = false
  readonly #child: ChildProcess
  readonly #clock: Start['clock']
  readonly #leaveMs: number
  readonly #ports: unknown
  /** Until its end was told. */
  #onEnd: Start['onEnd'] | undefined
  #leaving: unknown
  #reading: PulseReading = { beats: 0, announced: 0, busy: undefined, work: '' }
  /** What it told of its end; absent where it could not. */
  #told: End | undefined

  constructor(
    { spec, generation, clock, log, onEnd }: Start,
    patience: { readonly leaveMs: number } = { leaveMs },
  ) {
    const { id, entry, input, heartbeatMs } = spec
    const { port1, port2 } = new MessageChannel()
    this.control = port1
    this.#clock = clock
    this.#leaveMs = patience.leaveMs
    this.#onEnd = onEnd
    this.#child = spawn(process.execPath, [...process.execArgv, host, id], {
      // What is printed by the way must not stand among what the command prints.
      stdio: ['ignore', stderrFd, stderrFd, 'ipc', 'pipe'],
      serialization: 'advanced',
    })
    this.#child.on('message', (word: HostWord) => this.#heard(word))
    this.#child.on('error', (error) => {
      if (this.pid !== null) return
      this.#ended({ code: null, signal: null, error: refusedStart(id, error) })
    })
    const of = (code: number | null, signal: string | null) => ({ code, signal, error: undefined })
    // Not at its `exit`: its last words may come after that.
    this.#child.once('exit', (code, signal) => this.#leaves(of(code, signal)))
    this.#child.once('close', (code, signal) => this.#ended(of(code, signal)))
    this.#ports = this.#child.stdio?.[portsFd]
    if (this.#ports instanceof Duplex) {
      const onOverfull = (error: Failure) => this.#isTold({ code: null, signal: null, error })
      new Bridge(this.#ports, { side: 1, first: port2, onOverfull })
    }
    const birth: HostBirth = { id, generation, entry: entry.href, input, heartbeatMs, log }
    // Where no descriptor is left there are neither streams nor words: its end tells why.
    this.#child.send?.(birth, () => undefined)
  }

  get pid(): number | null {
    return this.#child.pid ?? null
  }

  reading(): PulseReading {
    return this.#reading
  }

  end(): Promise<boolean> {
    this.#child.kill('SIGKILL')
    this.#leaves({ code: null, signal: 'SIGKILL', error: undefined })
    return Promise.resolve(true)
  }

  /** It must end, for this. */
  #isTold(end: End): void {
    this.#told ??= end
    void this.end()
  }

  /** Its end is told soon, come what may. */
  #leaves(end: End): void {
    this.#leaving ??= this.#clock.setTimeout(() => this.#ended(end), this.#leaveMs, 'idle')
  }

  #ended(end: End): void {
    const tell = this.#onEnd
    this.#onEnd = undefined
    this.#clock.clearTimeout(this.#leaving)
    this.control.close()
    // All that others ask of it settles.
    if (this.#ports instanceof Duplex) this.#ports.destroy()
    tell?.(this.#told ?? end)
  }

  #heard(word: HostWord): void {
    if ('pulse' in word) this.#reading = word.pulse
    else {
      const { code, error } = word
      this.#told = { code, signal: null, error: error && unpackError(error) }
    }
  }
}
