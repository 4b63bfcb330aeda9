import { type ChildProcess, spawn } from 'node:child_process'
import { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { Bridge } from '../../protocol/bridge.ts'
import { unpackError } from '../../protocol/packed-error.ts'
import type { PulseReading } from '../../protocol/pulse.ts'
import { type HostBirth, type HostWord, portsFd } from './host-words.ts'
import type { End, Start, Vessel } from './vessel.ts'

const stderrFd = 2
const host = fileURLToPath(new URL('./host.js', import.meta.url))

/**
 * A child process with the actor in it: whatever ends it, native code or the system, ends nothing
 * else. It needs no gate.
 */
export class Process implements Vessel {
  readonly control: MessagePort
  readonly isInside = false
  readonly #child: ChildProcess
  #reading: PulseReading = { beats: 0, announced: 0, busy: undefined, work: '' }
  /** What it told of its end; absent where it could not. */
  #told: End | undefined

  constructor({ spec, generation, log, onEnd }: Start) {
    const { id, entry, input, heartbeatMs } = spec
    const { port1, port2 } = new MessageChannel()
    this.control = port1
    this.#child = spawn(process.execPath, [...process.execArgv, host, id], {
      // What is printed by the way must not stand among what the command prints.
      stdio: ['ignore', stderrFd, stderrFd, 'ipc', 'pipe'],
      serialization: 'advanced',
    })
    this.#child.on('message', (word: HostWord) => this.#heard(word))
    this.#child.on('error', (error) => {
      if (this.pid === null) this.#told = { code: null, signal: null, error }
    })
    // Not at its `exit`: its last words may come after that.
    this.#child.once('close', (code, signal) => {
      port1.close()
      onEnd(this.#told ?? { code, signal, error: undefined })
    })
    const ports = this.#child.stdio?.[portsFd]
    if (ports instanceof Duplex) new Bridge(ports, { side: 1, first: port2 })
    const birth: HostBirth = { id, generation, entry: entry.href, input, heartbeatMs, log }
    this.#child.send(birth, () => undefined)
  }

  get pid(): number | null {
    return this.#child.pid ?? null
  }

  reading(): PulseReading {
    return this.#reading
  }

  end(): Promise<boolean> {
    this.#child.kill('SIGKILL')
    return Promise.resolve(true)
  }

  #heard(word: HostWord): void {
    if ('pulse' in word) this.#reading = word.pulse
    else {
      const { code, error } = word
      this.#told = { code, signal: null, error: error && unpackError(error) }
    }
  }
}
