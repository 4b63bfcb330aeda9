/** A list of samples that only grows: hash and length of each, by its number. */
export class NumberedHashes {
  #hashes = new Uint8Array(1024 * 16)
  #tokens = new Uint32Array(1024)
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Of the first so many, a view that holds until the list grows. */
  tokens(count = this.#count): Uint32Array {
    return this.#tokens.subarray(0, count)
  }

  /** 16 bytes each, of the samples from `start` to `end`: a view, as above. */
  hashes(start = 0, end = this.#count): Uint8Array {
    return this.#hashes.subarray(start * 16, end * 16)
  }

  /** 32 hexadecimal digits. */
  hash(sample: number): string {
    return Buffer.from(this.#hashes.buffer, sample * 16, 16).toString('hex')
  }

  /** @param hashes  16 bytes each, as many as there are lengths */
  add(hashes: Uint8Array, tokens: Uint32Array): void {
    const count = this.#count + tokens.length
    if (count > this.#tokens.length) this.#grow(count)
    this.#hashes.set(hashes, this.#count * 16)
    this.#tokens.set(tokens, this.#count)
    this.#count = count
  }

  #grow(count: number): void {
    const room = Math.max(count, this.#tokens.length * 2)
    const hashes = new Uint8Array(room * 16)
    hashes.set(this.#hashes)
    const tokens = new Uint32Array(room)
    tokens.set(this.#tokens)
    this.#hashes = hashes
    this.#tokens = tokens
  }
}
