import { systemClock } from '../../src/clock.ts'
import { openManifest } from '../../src/manifest/log.ts'
import { newWriterId } from '../../src/manifest/names.ts'
import { openStore } from '../../src/store/open.ts'

/**
 * One replay of the manifest in a store, in a process of its own: the argument is the store's URL.
 */

const manifest = openManifest(await openStore(process.argv[2]), {
  writer: newWriterId(systemClock, Math.random),
})
const cpuBefore = process.cpuUsage()
const before = performance.now()
const table = await manifest.replay()
const after = performance.now()
const cpu = process.cpuUsage(cpuBefore)
const answer = {
  entries: table.size,
  replaySeconds: (after - before) / 1000,
  cpuSeconds: (cpu.user + cpu.system) / 1e6,
  // The clock of `performance` starts with the process.
  processSeconds: after / 1000,
  // On every system in kibibytes, says libuv.
  peakBytes: process.resourceUsage().maxRSS * 1024,
}
process.stdout.write(JSON.stringify(answer))
