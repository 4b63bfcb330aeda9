import { ledgerContract } from '../../protocol/ledger.ts'
import { actor } from '../../protocol/lifecycle.ts'
import { loaderContract } from '../../protocol/loader.ts'
import { permitsOf } from '../../protocol/permit.ts'
import { patientStore } from '../../src/store/patient.ts'
import type { LoaderInput } from './index.ts'
import { type OpenedFeed, openFeed } from './open.ts'
import { answers } from './serve.ts'

const self = actor<LoaderInput>()
const { input, log } = self
const ledger = self.peer('ledger', ledgerContract)
let opened: OpenedFeed | undefined
let requests = 0
const store = await patientStore(input.store, {
  acquire: permitsOf(ledger, 'sample'),
  attempts: input.attempts,
  log,
  // A manifest over a slow line takes long: the supervisor sees that it goes on.
  onTried: () => {
    if (!opened) self.pulse.beat(`reading the manifest, ${++requests} requests`)
  },
})
opened = await openFeed(input, {
  store,
  log,
  onRows: (rows) => self.pulse.beat(`${rows} rows of the dataset read`),
})
const { cache, feed } = opened
const handlers = answers(opened)

self.serve(loaderContract, () => handlers)
self.heeds('spool.maxBytes', (maxBytes) => cache?.limit({ maxBytes }))
self.heeds('spool.keepFree', (keepFree) => cache?.limit({ keepFree }))
self.live({
  drain: async () => feed.stop(),
  status: () => ({ work: feed.work }),
})
