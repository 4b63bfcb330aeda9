import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { deferred } from '../../../protocol/deferred.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { lockKey } from '../../../src/manifest/holder.ts'
import { runKey } from '../../../src/run/stored-run.ts'
import { eachRequest } from '../../../src/store/each-request.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { ObjectStore } from '../../../src/store/store.ts'
import { extracting } from '../../../supervisors/job.ts'
import { openRun } from '../../../supervisors/run/opening.ts'
import type { Prepared } from '../../../supervisors/run/preflight.ts'
import { RunProcess } from '../../../supervisors/run/run.ts'
import { realRun } from '../../../supervisors/run/surroundings.ts'
import { silent } from '../../support/ledger-rig.ts'
import { scratch } from '../../support/target-run.ts'

/** A run that is told to stop while its store is still being claimed. */

async function claiming(t: TestContext) {
  const work = await scratch(t)
  const [store, target] = [pathToFileURL(work).href, { path: work }]
  const config = configSchema.parse({ store, work, dataset: { path: work }, target })
  const identity: Prepared['identity'] = {
    ...{ target: 'a'.repeat(64), architecture: 'Qwen3ForCausalLM', layers: [1], hiddenSize: 8 },
    ...{ dtype: 'f32', captureFinal: false, quantization: 'none', truncation: 'none' },
  }
  const plan = { tokenBudget: 20, maxTokens: 16, outputBytesMax: 1e6, limit: null, seed: 0 }
  return { config, identity, plan, training: null }
}

/** Holds the first request of this kind until it is let go. */
function holding(kept: ObjectStore, isHeld: (method: string, key: string) => boolean) {
  const [held, go] = [deferred<void>(), deferred<void>()]
  const wait = async (method: string, key: string) => {
    if (!isHeld(method, key)) return
    held.resolve()
    await go.promise
  }
  const store: ObjectStore = {
    ...eachRequest(kept, (work) => work()),
    put: async (key, ...rest) => {
      await wait('put', key)
      return await kept.put(key, ...rest)
    },
    putIfAbsent: async (key, ...rest) => {
      await wait('putIfAbsent', key)
      return await kept.putIfAbsent(key, ...rest)
    },
  }
  return { store, held: held.promise, go: () => go.resolve() }
}

const keysOf = async (store: ObjectStore): Promise<string[]> => {
  const keys: string[] = []
  for await (const { key } of store.list('')) keys.push(key)
  return keys
}

test('opening: told to end before it has claimed the store, it leaves nothing there', async (t) => {
  const kept = new MemoryStore()
  const { store, held, go } = holding(kept, (method) => method === 'put')
  const opening = openRun(store, await claiming(t), { log: silent, around: realRun })
  await held
  const ended = opening.abort()
  go()
  await ended
  await assert.rejects(opening.done, { name: 'AbortError' })
  assert.deepEqual(await keysOf(kept), [])
})

test('opening: told to end while it takes the lock, it gives the lock back', async (t) => {
  const kept = new MemoryStore()
  const { store, held, go } = holding(kept, (_, key) => key === lockKey)
  const opening = openRun(store, await claiming(t), { log: silent, around: realRun })
  await held
  const ended = opening.abort()
  go()
  await ended
  await opening.done
  assert.deepEqual(await keysOf(kept), [runKey])
})

test('run: told to stop in its preflight, it asks nothing of its store', async (t) => {
  const { config, ...rest } = await claiming(t)
  let asked = 0
  const store = eachRequest(new MemoryStore(), async (work) => {
    asked += 1
    return await work()
  })
  const run = new RunProcess(config, {
    lastWords: () => undefined,
    job: extracting,
    amend: async (_, prepared) => prepared,
    around: {
      ...realRun,
      openLog: () => silent,
      openStore: async () => store,
      prepare: async () => {
        run.signalled('SIGTERM', 'drain')
        // Of all that is prepared nothing else is looked at before the store is claimed.
        return { config, ...rest } as Prepared
      },
    },
  })
  const { code } = await run.run()
  assert.deepEqual([code, asked], [143, 0])
})

test('run: told to stop in its preflight, it waits for no device that is tried', async (t) => {
  const { config } = await claiming(t)
  let trial: AbortSignal | undefined
  const run = new RunProcess(config, {
    lastWords: () => undefined,
    job: extracting,
    amend: async (_, prepared) => prepared,
    around: {
      ...realRun,
      openLog: () => silent,
      openStore: async () => new MemoryStore(),
      prepare: (_config, _job, signal) => {
        trial = signal
        run.signalled('SIGINT', 'drain')
        return new Promise(() => undefined)
      },
    },
  })
  const { code } = await run.run()
  assert.deepEqual([code, trial?.aborted], [130, true])
})
