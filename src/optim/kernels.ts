/** The loops of adamw.wat over a memory of the host's; no other file knows their addresses. */
import { readFileSync } from 'node:fs'
import { Failure } from '../failure.ts'

/** What adamw.wat offers. Addresses in bytes, counts in floats: multiples of `paddedTo`. */
export interface Kernels {
  sumOfSquares(at: number, count: number): number
  add(into: number, from: number, count: number): void
  adamw(
    ...args: [
      ...addresses: [p: number, gradient: number, m: number, v: number],
      count: number,
      ...factors: [clip: number, gainM: number, keepV: number, gainV: number],
      ...update: [keepP: number, rate: number, correctV: number, epsilon: number],
    ]
  ): void
}

/** In floats: a cache line, which is a whole number of vectors. */
export const paddedTo = 16

/** Of WebAssembly's memory, in bytes. */
const pageBytes = 65_536

/** One page below 4 GiB, so that the address after the last byte is one too. */
export const memoryBytesMax = 65_535 * pageBytes

/** As far as it is used here: Node's types leave it to those of browsers. */
declare const WebAssembly: {
  readonly Memory: new (size: {
    readonly initial: number
    readonly maximum: number
  }) => { readonly buffer: ArrayBuffer }
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (
    module: object,
    imports: { readonly host: { readonly memory: object } },
  ) => { readonly exports: Kernels }
}

let compiled: object | undefined

/**
 * Kernels, and zeros to run them on: a buffer that never grows, so that views on it stay. Pages of
 * it that nobody writes take no memory.
 *
 * @throws  Failure `invalid`: the system does not give so much
 */
export function kernelsWithMemory(bytes: number): {
  readonly kernels: Kernels
  readonly buffer: ArrayBuffer
} {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('./adamw.wasm', import.meta.url)))
  const pages = Math.max(1, Math.ceil(bytes / pageBytes))
  const memory = memoryOf(pages)
  const { exports: kernels } = new WebAssembly.Instance(compiled, { host: { memory } })
  return { kernels, buffer: memory.buffer }
}

function memoryOf(pages: number) {
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: pages })
  } catch (cause) {
    const facts = `bytes=${pages * pageBytes}`
    throw new Failure('invalid', `no memory for what is trained. ${facts}`, {
      remedy: 'Train a smaller drafter, or raise the limit of memory or of address space.',
      cause,
    })
  }
}
