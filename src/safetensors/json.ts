/**
 * JSON as the official reader takes it. JSON.parse will not do: it rounds integers beyond 2^53,
 * reads `1.0` as an integer and drops repeated keys, and on these hangs whether a header is right.
 */

import { Failure } from '../failure.ts'

/** A bigint is an unsigned 64-bit integer, written as one. */
export type Json = null | boolean | string | bigint | OtherNumber | Json[] | JsonObject

/** A number of which no header has use: negative, with fraction or exponent, or too large. */
export class OtherNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export class JsonObject {
  /** In the order of the text, repeated keys and all. */
  readonly members: [key: string, value: Json][] = []
}

/** One level more is refused, under unknown keys too: serde_json's recursion limit. */
const maxDepth = 127
const maxU64 = 2n ** 64n - 1n

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const loneSurrogate = /\p{Surrogate}/u
const literals = [
  ['null', null],
  ['true', true],
  ['false', false],
] as const

/** @throws Failure `corrupt`: the text is no JSON; with the position, in characters */
export function parseJson(text: string): Json {
  const parser = new Parser(text)
  return parser.document()
}

class Parser {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): Json {
    const value = this.#value()
    this.#skipSpace()
    if (this.#at < this.#text.length) throw this.#unexpected('the end')
    return value
  }

  #value(): Json {
    this.#skipSpace()
    const first = this.#text[this.#at]
    if (first === '{') return this.#object()
    if (first === '[') return this.#array()
    if (first === '"') return this.#string()
    for (const [word, value] of literals) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length
        return value
      }
    }
    return this.#number()
  }

  #object(): JsonObject {
    const object = new JsonObject()
    this.#enter()
    if (!this.#take('}')) {
      do {
        this.#skipSpace()
        if (this.#text[this.#at] !== '"') throw this.#unexpected('a key')
        const key = this.#string()
        if (!this.#take(':')) throw this.#unexpected(':')
        object.members.push([key, this.#value()])
      } while (this.#take(','))
      if (!this.#take('}')) throw this.#unexpected(', or }')
    }
    this.#depth--
    return object
  }

  #array(): Json[] {
    const array: Json[] = []
    this.#enter()
    if (!this.#take(']')) {
      do array.push(this.#value())
      while (this.#take(','))
      if (!this.#take(']')) throw this.#unexpected(', or ]')
    }
    this.#depth--
    return array
  }

  #string(): string {
    const start = this.#at
    let end = start + 1
    while (end < this.#text.length && this.#text[end] !== '"')
      end += this.#text[end] === '\\' ? 2 : 1
    let decoded: unknown
    try {
      decoded = JSON.parse(this.#text.slice(start, end + 1))
    } catch (cause) {
      throw this.#unexpected('a string', cause)
    }
    if (typeof decoded !== 'string' || loneSurrogate.test(decoded))
      throw this.#unexpected('a string')
    this.#at = end + 1
    return decoded
  }

  #number(): bigint | OtherNumber {
    number.lastIndex = this.#at
    const match = number.exec(this.#text)
    if (!match) throw this.#unexpected('a value')
    const [text] = match
    if (!Number.isFinite(Number(text))) throw this.#unexpected('a number within range')
    this.#at += text.length
    const integer = /^\d+$/.test(text) ? BigInt(text) : undefined
    return integer !== undefined && integer <= maxU64 ? integer : new OtherNumber(text)
  }

  #enter(): void {
    if (++this.#depth > maxDepth) throw this.#unexpected(`at most ${maxDepth} levels`)
    this.#at++
  }

  #take(mark: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] !== mark) return false
    this.#at++
    return true
  }

  #skipSpace(): void {
    while (' \t\n\r'.includes(this.#text[this.#at] ?? 'end')) this.#at++
  }

  #unexpected(want: string, cause?: unknown): Failure {
    const found = JSON.stringify(this.#text.slice(this.#at, this.#at + 16))
    return new Failure('corrupt', `not JSON. at=${this.#at}, want=${want}, found=${found}`, {
      cause,
    })
  }
}
