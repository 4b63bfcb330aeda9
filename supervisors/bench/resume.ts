import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { seededRandom } from '../../src/clock.ts'
import { Shelf } from '../../src/dev-s3/shelf.ts'
import { entryKey } from '../../src/manifest/entry.ts'
import { openStore } from '../../src/store/open.ts'
import { inFreshProcess } from './fresh.ts'
import { randomRows } from './manifest-rows.ts'
import { writeManifest } from './manifest-writer.ts'
import type { BenchReport, Figure } from './report.ts'
import { type ServedS3, serveS3, shelfPlace } from './served-s3.ts'

/** What a new machine must do to know what is stored: read the manifest, or ask for the objects. */

/** The job that this project is made for. */
const jobObjects = 914_000
const ways = ['replay', 'list', 'head'] as const
type Way = (typeof ways)[number]

const once = z.strictObject({ objects: z.number(), seconds: z.number(), cpuSeconds: z.number() })
type Once = z.output<typeof once>

export interface ResumeSizes {
  readonly entries: number
  readonly repeats: number
}

export async function benchResume(
  folder: string,
  { entries, repeats }: ResumeSizes,
  note: (text: string) => void,
): Promise<BenchReport> {
  const dir = join(folder, `store-${entries}`)
  if (!existsSync(dir)) await makeStore(dir, entries, note)
  await using s3 = await serveS3(dir)
  const found: Record<Way, Once[]> = { replay: [], list: [], head: [] }
  for (let repeat = 1; repeat <= repeats; repeat++) {
    for (const way of ways) {
      note(`${way}, ${repeat} of ${repeats}`)
      found[way].push(await measure(s3, way))
    }
  }
  const [{ objects }] = found.replay
  for (const one of ways.flatMap((way) => found[way])) {
    if (one.objects !== objects) {
      throw new Error(`a way lost objects. want=${objects}, found=${one.objects}`)
    }
  }
  return {
    bench: 'resume',
    sizes: { entries, objects, repeats, 'objects of the whole job': jobObjects },
    method: [
      'The embedded S3 server, a process of its own, holds the objects, of a few bytes each, and',
      'their manifest. Each repeat is a new process a way, one after the other: the manifest',
      'replayed; every object listed, 1,000 a request; every object asked for, 100 at once. The',
      'lines below them are the same, stretched in proportion to the objects of the whole job.',
      'That is too much for the replay: a bigger job has no more segments beside its snapshot.',
    ],
    figures: [
      ...ways.map((way) => figureOf(names[way], found[way], 1)),
      ...ways.map((way) => figureOf(`${names[way]}, stretched`, found[way], jobObjects / objects)),
    ],
  }
}

const names: Readonly<Record<Way, string>> = {
  replay: 'replay of the manifest',
  list: 'LIST of everything',
  head: 'HEAD of everything',
}

const figureOf = (name: string, found: readonly Once[], by: number): Figure => ({
  name,
  unit: 's',
  values: found.map(({ seconds }) => seconds * by),
})

async function measure({ url, endpoint, env }: ServedS3, way: Way): Promise<Once> {
  const script = new URL('./resume-once.js', import.meta.url)
  return once.parse(await inFreshProcess({ script, args: [way, url, endpoint], env }))
}

/** Objects are laid on the server's shelf as if they had been put; the manifest goes through it. */
async function makeStore(
  dir: string,
  entries: number,
  note: (text: string) => void,
): Promise<void> {
  note(`making a store of ${entries} objects`)
  const unfinished = `${dir}.tmp`
  await rm(unfinished, { recursive: true, force: true })
  const keys: string[] = []
  {
    await using s3 = await serveS3(unfinished)
    const store = await openStore(s3.url, { endpoint: s3.endpoint }, { env: s3.env })
    const random = seededRandom(0)
    await writeManifest(store, entries, {
      rows: (count) => randomRows(count, random),
      each: (entry) => entry.status === 'stored' && keys.push(entryKey(entry)),
    })
    store.close()
  }
  const shelf = new Shelf(unfinished)
  for (const key of keys) shelf.put(shelfPlace(key), Buffer.from(key))
  await rename(unfinished, dir)
}
