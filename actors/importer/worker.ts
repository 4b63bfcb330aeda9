import { ledgerContract } from '../../protocol/ledger.ts'
import { actor } from '../../protocol/lifecycle.ts'
import { permitsOf } from '../../protocol/permit.ts'
import { sourceContract } from '../../protocol/source.ts'
import { keepRowHashes } from '../../src/run/kept-hashes.ts'
import { patientStore } from '../../src/store/patient.ts'
import type { ImporterInput } from './index.ts'
import { openImporter } from './open.ts'

const self = actor<ImporterInput>()
const { input, log } = self
const ledger = self.peer('ledger', ledgerContract)
const acquire = permitsOf(ledger, 'manifest')
const store = await patientStore(input.store, { acquire, attempts: input.attempts, log })
/** Told to drain, it does not wait for room on the disk. */
const draining = new AbortController()
const { importer, keeper, hashes } = await openImporter(input, {
  ledger,
  store,
  log,
  signal: draining.signal,
  onHashed: (rows) => self.pulse.beat(`${rows} rows of the dataset hashed`),
})
const kept = keepRowHashes(hashes, { work: input.work, store, log })

self.serve(sourceContract, () => ({
  pause: (paused) => importer.pause(paused),
  status: () => importer.status(),
}))
self.heeds('spool.keepFree', (bytes) => keeper.keepFree(bytes))
self.heeds('spool.maxBytes', (bytes) => importer.spoolHolds(bytes))
const running = importer.run()
self.live({
  drain: async () => {
    importer.drain()
    draining.abort()
    await running
    await kept.now()
  },
  status: () => ({ work: importer.work }),
})
