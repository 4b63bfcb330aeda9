import { systemClock } from '../../src/clock.ts'
import { entryKey } from '../../src/manifest/entry.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import type { EntryTable } from '../../src/manifest/table.ts'
import { openStore } from '../../src/store/open.ts'
import type { ObjectStore } from '../../src/store/store.ts'

/**
 * One way to learn what a store holds, in a process of its own. The arguments are the way, the
 * store's URL and its endpoint.
 */

const headsAtOnce = 100

const [way, url, endpoint] = process.argv.slice(2)
const store = await openStore(url, { endpoint })
// Who asks for each object must know their names, from wherever: that is not measured.
const known = way === 'head' ? await replay(store) : undefined
const cpuBefore = process.cpuUsage()
const before = performance.now()
const objects = await count()
const seconds = (performance.now() - before) / 1000
const cpu = process.cpuUsage(cpuBefore)
store.close()
const cpuSeconds = (cpu.user + cpu.system) / 1e6
process.stdout.write(JSON.stringify({ objects, seconds, cpuSeconds }))

async function count(): Promise<number> {
  if (way === 'replay') return (await replay(store)).stored
  let found = 0
  if (way === 'list') {
    for await (const { size } of store.list('hidden-states/')) if (size > 0) found++
    return found
  }
  const entries = known?.entries() ?? []
  const ask = async () => {
    for (const entry of entries) {
      if (entry.status === 'stored' && (await store.head(entryKey(entry)))) found++
    }
  }
  await Promise.all(Array.from({ length: headsAtOnce }, ask))
  return found
}

async function replay(from: ObjectStore): Promise<EntryTable> {
  return await openManifest(from, { writer: newWriterId(systemClock, Math.random) }).replay()
}
