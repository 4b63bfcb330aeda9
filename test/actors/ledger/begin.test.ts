import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { begin } from '../../../actors/ledger/begin.ts'
import { newGrants } from '../../../actors/ledger/grants.ts'
import { newSharedPermits } from '../../../actors/ledger/held-permits.ts'
import type { LedgerInput } from '../../../actors/ledger/index.ts'
import { connect } from '../../../protocol/channel.ts'
import { controlContract } from '../../../protocol/control.ts'
import { embody } from '../../../protocol/lifecycle.ts'
import { Pulse } from '../../../protocol/pulse.ts'
import { systemClock } from '../../../src/clock.ts'
import { eachRequest } from '../../../src/store/each-request.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { realSurroundings } from '../../../src/surroundings.ts'
import { hashOf, line, silent, told } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

const quarantined = (n: number) =>
  ({ ...line(hashOf(n)), status: 'quarantined', reason: 'not finite' }) as const

test('ledger: each answer of the store to its replay is a sign of life', async (t) => {
  const work = await scratch(t)
  await mkdir(join(work, 'spool'))
  const kept = new MemoryStore()
  for (const n of [1, 2, 3]) await told(kept, [quarantined(n)])
  const pulse = new Pulse()
  const beats: number[] = []
  const works: string[] = []
  const store = eachRequest(kept, async (ask) => {
    beats.push(pulse.read().beats)
    works.push(pulse.read().work)
    return await ask()
  })
  const { port1, port2 } = new MessageChannel()
  t.after(() => port1.close())
  const input: LedgerInput = {
    ...{ work, store: { url: 'memory:', s3: {} }, attempts: 3, maxParallel: 10 },
    ...{ deadlineMinutes: 30, commit: { every: 1000, seconds: 1e6 } },
    ...{ spool: { keepFree: 0, maxBytes: 1e9 }, retry: new Map(), grants: newGrants([]) },
    permits: newSharedPermits([]),
  }
  const birth = { id: 'ledger', generation: 1, input, control: port2, pulse: pulse.memory }
  const self = embody<LedgerInput>(
    { ...birth, beatMs: 1e6, log: { level: 'info', stderr: 'none' } },
    { clock: systemClock, openLog: () => silent, exit: () => undefined, die: assert.ifError },
  )
  await begin(self, { ...realSurroundings, openStore: async () => store })
  await connect(port1, controlContract, { peer: 'ledger' }).ready()

  const replaying = works.filter((text) => text.startsWith('replaying'))
  // Two listings, the note and three segments, each told of before the one after is asked.
  assert.ok(replaying.length >= 4, works.join('; '))
  assert.ok((beats[0] ?? 0) < (beats[replaying.length] ?? 0), beats.join(', '))
  assert.match(pulse.read().work, /serving/)
})
