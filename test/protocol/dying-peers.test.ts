import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isFailure } from '../../src/failure.ts'
import { askerContract } from '../support/actors/asker-contract.ts'
import { newCounts, puppetContract, type Way } from '../support/actors/puppet-contract.ts'
import { asker, plant, puppet, startOf, supervisor } from '../support/trees.ts'

const ways: readonly Way[] = ['exit 0', 'throw', 'bug', 'hang']

for (const way of ways) {
  const name = way === 'hang' ? 'terminate()' : way

  test(`a call between siblings settles though its peer ends by ${name}, naming it`, async (t) => {
    const counts = newCounts()
    const planted = plant(t, supervisor('root', [puppet('puppet', { input: { counts } }), asker()]))
    await planted.tree.start()
    const client = planted.tree.client('asker', askerContract)
    const settled = assert.rejects(client.ask.job(way), (error) => {
      assert.ok(isFailure(error, 'unavailable'))
      assert.match(error.message, /actor=puppet, request=job/)
      return true
    })
    if (way === 'hang') await killOnceBegun(counts, () => planted.tree.kill('puppet'))
    await settled
  })

  test(`a call is sent again, once, after its peer ended by ${name}`, async (t) => {
    const counts = newCounts()
    const planted = plant(t, supervisor('root', [puppet('puppet', { input: { counts } }), asker()]))
    await planted.tree.start()
    const answer = planted.tree.client('asker', askerContract).ask.jobAgain(way)
    if (way === 'hang') await killOnceBegun(counts, () => planted.tree.kill('puppet'))
    assert.equal(await answer, 2)
    assert.equal(counts[0], 2, 'begun once in each life')
    assert.deepEqual(planted.story('restarting'), ['restarting puppet'])
  })
}

test('an asker is wired to a peer that starts later, and again when it restarts', async (t) => {
  const counts = newCounts()
  const children = [asker(), puppet('puppet', { input: { counts } })]
  const planted = plant(t, supervisor('root', children))
  await planted.tree.start()
  Atomics.store(counts, 0, 1)
  const client = planted.tree.client('asker', askerContract)
  assert.equal(await client.ask.job('hang'), 2)
  await planted.tree.kill('asker')
  await planted.until(startOf('asker', 2))
  assert.equal(await client.again((ask) => ask.job('hang')), 3)
})

test('an asker’s new port is served only after its old one was told closed', async (t) => {
  const planted = plant(t, supervisor('root', [puppet(), asker()]))
  await planted.tree.start()
  for (const generation of [2, 3]) {
    await planted.tree.kill('asker')
    await planted.until(startOf('asker', generation))
  }
  const client = planted.tree.client('puppet', puppetContract)
  assert.deepEqual(await client.ask.askers(), [
    'asked by asker',
    'closed asker',
    'asked by asker',
    'closed asker',
    'asked by asker',
    'asked by main/0',
  ])
})

test('collected clients lose no reply, and ten thousand calls leave nothing behind', async () => {
  const script = fileURLToPath(new URL('../support/channel-memory.js', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script])
  const found: unknown = JSON.parse(stdout)
  const { replies, heapGrowth, rssGrowth } = Object(found)
  assert.equal(replies, 100)
  assert.ok(heapGrowth < 1 << 20, `heap grew by ${heapGrowth} bytes over 10,000 calls`)
  assert.ok(rssGrowth < 20 << 20, `resident memory grew by ${rssGrowth} bytes over 10,000 messages`)
})

async function killOnceBegun(counts: Int32Array, kill: () => Promise<unknown>): Promise<void> {
  while (Atomics.load(counts, 0) === 0) await new Promise(setImmediate)
  await kill()
}
