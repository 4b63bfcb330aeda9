import { join } from 'node:path'
import { ledgerContract } from '../../protocol/ledger.ts'
import type { Actor } from '../../protocol/lifecycle.ts'
import { lanesOf } from '../../protocol/request-shares.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { patientStore } from '../../src/store/patient.ts'
import type { Surroundings } from '../../src/surroundings.ts'
import type { UploaderInput } from './index.ts'
import { Lanes } from './lanes.ts'
import { PermitsInHand } from './permits-in-hand.ts'
import { SpoolReader } from './read.ts'
import { upload } from './upload.ts'

export async function begin(self: Actor<UploaderInput>, around: Surroundings): Promise<void> {
  const { input, log } = self
  const ledger = self.peer('ledger', ledgerContract)
  const permits = new PermitsInHand(ledger)
  const store = await patientStore(input.store, {
    acquire: permits.acquire,
    attempts: input.attempts,
    log,
    around,
  })
  const { path } = await openSpool(join(input.work, 'spool'), around)
  const { clock, disk, monotonic } = around
  const tools = {
    store,
    path,
    reader: new SpoolReader(monotonic, disk),
    storeSums: input.storeSums,
  }
  const lanes = new Lanes(ledger, {
    upload: (sample) => upload(sample, tools),
    permits,
    clock,
  })
  lanes.resize(lanesOf(input.share))

  self.heeds('upload.maxParallel', (maxParallel) => {
    lanes.resize(lanesOf({ ...input.share, maxParallel }))
  })
  self.live({
    drain: () => lanes.drain(),
    status: () => ({ work: `${lanes.busy} of ${lanes.count} lanes` }),
  })
}
