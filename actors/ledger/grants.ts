/**
 * What each writer may still write into the spool. It outlives the ledger's thread, for the writers
 * do too: they go on with what an earlier ledger granted them.
 */
export interface SharedGrants {
  /** Ids of those that may ask for room. */
  readonly writers: readonly string[]
  /** Of each, in bytes; 0 where nothing is granted. Read and written by one ledger at a time. */
  readonly bytes: Float64Array<SharedArrayBuffer>
}

export const newGrants = (writers: readonly string[]): SharedGrants => {
  const memory = new SharedArrayBuffer(writers.length * Float64Array.BYTES_PER_ELEMENT)
  return { writers, bytes: new Float64Array(memory) }
}

/** Grants by the ids of their writers; whoever is none has none. */
export class Grants {
  readonly #shared: SharedGrants

  constructor(shared: SharedGrants) {
    this.#shared = shared
  }

  get sum(): number {
    return this.#shared.bytes.reduce((sum, bytes) => sum + bytes, 0)
  }

  get(writer: string): number {
    return this.#shared.bytes[this.#shared.writers.indexOf(writer)] ?? 0
  }

  set(writer: string, bytes: number): void {
    const at = this.#shared.writers.indexOf(writer)
    if (at < 0) throw new Error(`it is not known to write into the spool. actor=${writer}`)
    this.#shared.bytes[at] = bytes
  }

  clear(writer: string): void {
    if (this.get(writer) > 0) this.set(writer, 0)
  }
}
