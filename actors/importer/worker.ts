import { ledgerContract } from '../../protocol/ledger.ts'
import { actor } from '../../protocol/lifecycle.ts'
import { sourceContract } from '../../protocol/reader.ts'
import type { ImporterInput } from './index.ts'
import { openImporter } from './open.ts'

const self = actor<ImporterInput>()
/** Told to drain, it does not wait for room on the disk. */
const draining = new AbortController()
const importer = await openImporter(self.input, {
  ledger: self.peer('ledger', ledgerContract),
  log: self.log,
  signal: draining.signal,
  onHashed: (rows) => self.pulse.beat(`${rows} rows of the dataset hashed`),
})

self.serve(sourceContract, () => ({
  pause: (paused) => importer.pause(paused),
  status: () => importer.status(),
}))
const running = importer.run()
self.live({
  drain: async () => {
    importer.drain()
    draining.abort()
    await running
  },
  status: () => ({ work: importer.work }),
})
