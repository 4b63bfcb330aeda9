import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { seededRandom } from '../../src/clock.ts'
import { spoolName } from '../../src/spool/name.ts'

/** What `bench upload` uploads: files of random bytes, under the names that a spool gives. */

/** A sample of the job that this project is made for. */
export const fileBytes = 1_100_000

/**
 * Makes those that are not there.
 *
 * @returns  their folder, and a JSON file of their names
 */
export async function makeFiles(
  folder: string,
  count: number,
): Promise<{ readonly files: string; readonly names: string }> {
  const files = join(folder, `files-${count}`)
  await mkdir(files, { recursive: true })
  const there = new Set(readdirSync(files))
  const list = join(folder, `names-${count}.json`)
  const block = randomBlock()
  const names: string[] = []
  for (let index = 0; index < count; index++) {
    block.writeUInt32LE(index)
    const hash = createHash('sha256').update(String(index)).digest('hex').slice(0, 32)
    const name = spoolName({ hash, tokens: 27, bytes: block.length, crc32: crc32(block) })
    if (!there.has(name)) await writeFile(join(files, name), block)
    names.push(name)
  }
  await writeFile(list, JSON.stringify(names))
  return { files, names: list }
}

/** They differ in their first bytes, which is enough for any checksum; the rest is made once. */
function randomBlock(): Buffer {
  const random = seededRandom(0)
  const words = Uint32Array.from({ length: fileBytes / 4 }, () => random() * 2 ** 32)
  return Buffer.from(words.buffer)
}
