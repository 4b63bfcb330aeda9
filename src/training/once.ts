/** Something that is made when it is first asked for, and kept. */
export class Once<T> {
  readonly #make: () => Promise<T>
  #asked: Promise<T> | undefined
  /** There once it was made. */
  made: T | undefined

  constructor(make: () => Promise<T>) {
    this.#make = make
  }

  async get(): Promise<T> {
    this.#asked ??= this.#make()
    this.made = await this.#asked
    return this.made
  }
}
