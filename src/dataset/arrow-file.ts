/** Reads a dataset's file by position. No descriptor outlives its use: shards can be many. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { Failure } from '../failure.ts'

/** One open file, of the size it had when it was opened. */
export class ArrowFile {
  readonly path: string
  readonly size: number
  readonly #fd: number

  constructor(path: string, fd: number) {
    this.path = path
    this.size = fstatSync(fd).size
    this.#fd = fd
  }

  /**
   * The bytes [at, at + length), in a buffer of their own.
   *
   * @throws Failure `corrupt`: the file ends before
   */
  read(at: number, length: number): Uint8Array<ArrayBuffer> {
    const left = Math.max(0, this.size - at)
    if (length > left) throw endsEarly(this.path, at, { want: length, found: left })
    const bytes = new Uint8Array(length)
    let done = 0
    while (done < length) {
      const count = readSync(this.#fd, bytes, done, length - done, at + done)
      if (count === 0) throw endsEarly(this.path, at, { want: length, found: done })
      done += count
    }
    return bytes
  }
}

/**
 * Opens the file for as long as `use` runs.
 *
 * @param sizeBefore  in bytes, where the file was looked at before
 * @throws Failure `invalid`: cannot be opened; `corrupt`: its size is not what it was
 */
export function withFile<T>(path: string, use: (file: ArrowFile) => T, sizeBefore?: number): T {
  const fd = openFile(path)
  try {
    const file = new ArrowFile(path, fd)
    if (sizeBefore !== undefined && file.size !== sizeBefore) {
      const sizes = `want=${sizeBefore} bytes, found=${file.size}`
      throw new Failure('corrupt', `a dataset file changed while in use. file=${path}, ${sizes}`, {
        remedy: 'Leave the dataset alone while a run reads it; start again.',
      })
    }
    return use(file)
  } finally {
    closeSync(fd)
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    throw new Failure('invalid', `a dataset file cannot be opened. file=${path}`, {
      remedy: 'Check that the dataset is complete and that its files may be read.',
      cause,
    })
  }
}

function endsEarly(
  path: string,
  at: number,
  { want, found }: { readonly want: number; readonly found: number },
): Failure {
  return new Failure(
    'corrupt',
    `an Arrow file ends early. file=${path}, offset=${at}, want=${want} bytes, found=${found}`,
    { remedy: 'The file is cut: copy or write it again.' },
  )
}
