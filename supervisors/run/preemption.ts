import { sleep } from '../../src/clock.ts'
import type { PreemptionConfig } from '../../src/config/schema.ts'
import { describeError, type Log } from '../../src/log.ts'
import { momentNow, timeLeft, timeLeftIn } from './preemption-notice.ts'

/** Looks for word that the machine is taken away: a file, or what a metadata service answers. */

const answerMs = 3000
/** Of an answer that is not understood. */
const shownMax = 80
const tokenPath = '/latest/api/token'
const namePath = '/metadata/instance/compute/name?api-version=2019-03-11&format=text'
const machineName = /^[\w.-]{1,80}$/
const tokenSeconds = '21600'
/** Each service wants its own, and does not mind the others'. */
const headers = { 'Metadata-Flavor': 'Google', Metadata: 'true' }

export interface WatchParts {
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Called once, with the time that is left. */
  readonly noticed: (leftMs: number) => void
}

export class PreemptionWatch {
  readonly #config: PreemptionConfig
  readonly #parts: WatchParts
  readonly #closed = new AbortController()
  #token: string | undefined
  #trouble: string | null = null
  /** Settles when it looks no more. */
  readonly ended: Promise<void>

  constructor(config: PreemptionConfig, parts: WatchParts) {
    this.#config = config
    this.#parts = parts
    this.ended = this.#watch()
  }

  close(): void {
    this.#closed.abort()
  }

  async #watch(): Promise<void> {
    const { everySeconds } = this.#config
    const { signal } = this.#closed
    while (!signal.aborted) {
      const leftMs = await this.#look()
      if (leftMs !== null && !signal.aborted) {
        const seconds = Math.round(leftMs / 1000)
        const { file, url } = this.#config
        const facts = { notice: file ?? url, seconds }
        this.#parts.log.warn(facts, 'this machine is taken away: what is under way is saved')
        return this.#parts.noticed(leftMs)
      }
      await sleep(everySeconds * 1000, undefined, signal).catch(() => undefined)
    }
  }

  /** The time that is left; null where no notice is. Trouble is told once, and its end. */
  async #look(): Promise<number | null> {
    const { file, url = '' } = this.#config
    try {
      const leftMs = await (file === undefined
        ? this.#leftByUrl(url)
        : timeLeftIn(file, momentNow(this.#config)))
      if (this.#trouble !== null) this.#parts.log.info('the spot notice can be looked for again')
      this.#trouble = null
      return leftMs
    } catch (error) {
      const reason = describeError(error).message
      if (this.#trouble === null) {
        this.#parts.log.warn({ reason }, 'the spot notice cannot be looked for; it is tried again')
      }
      this.#trouble = reason
      return null
    }
  }

  async #leftByUrl(url: string): Promise<number | null> {
    const text = await this.#ask(url)
    if (text === null) return null
    const machine = text.includes('"Resources"') ? await this.#nameOfMachine(url) : null
    const left = timeLeft(text, { ...momentNow(this.#config), machine })
    if (left !== 'unclear') return left
    const found = JSON.stringify(text.slice(0, shownMax))
    throw new Error(`no notice, and no word that there is none, from ${url}. found=${found}`)
  }

  /** Null where Azure's service does not tell it: a notice too many does less harm than none. */
  async #nameOfMachine(url: string): Promise<string | null> {
    try {
      const answer = await this.#get(new URL(namePath, url).href)
      const name = (await answer.text()).trim()
      return answer.status === 200 && machineName.test(name) ? name : null
    } catch {
      return null
    }
  }

  async #ask(url: string): Promise<string | null> {
    let answer = await this.#get(url)
    if (answer.status === 401) {
      await answer.body?.cancel()
      this.#token = await this.#newToken(url)
      answer = await this.#get(url)
    }
    if (answer.status === 200) return await answer.text()
    await answer.body?.cancel()
    if (answer.status === 404) return null
    throw new Error(`status ${answer.status} from ${url}`)
  }

  #get(url: string): Promise<Response> {
    const token = this.#token
    const own: [string, string][] = token === undefined ? [] : [['X-aws-ec2-metadata-token', token]]
    return this.#fetch(url, { headers: [...Object.entries(headers), ...own] })
  }

  /** Of Amazon's service, version 2. */
  async #newToken(url: string): Promise<string> {
    const ttl = { 'X-aws-ec2-metadata-token-ttl-seconds': tokenSeconds }
    const answer = await this.#fetch(new URL(tokenPath, url).href, { method: 'PUT', headers: ttl })
    const token = await answer.text()
    if (answer.status === 200) return token
    throw new Error(`status ${answer.status} in place of a token from ${url}`)
  }

  #fetch(url: string, request: RequestInit): Promise<Response> {
    const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(answerMs)])
    return fetch(url, { ...request, redirect: 'error', signal })
  }
}
