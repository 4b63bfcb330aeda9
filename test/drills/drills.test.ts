import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Drill } from '../../supervisors/drills/drill.ts'
import { hold } from '../../supervisors/drills/hold.ts'
import { drills } from '../../supervisors/drills/list.ts'
import { Ground } from '../../supervisors/drills/rig/ground.ts'
import { demoMaterials } from '../../supervisors/drills/rig/materials.ts'

/** The drills that take seconds; `draftsmith drill --all` holds the others as well. */
const quick = [
  'reader-killed',
  'extractor-killed',
  'extractor-killed-around-rename',
  'uploader-killed-before-commit',
  'ledger-killed-before-commit',
  'ledger-killed-after-commit',
  'actors-killed-by-order',
  'process-killed-and-relaunched',
  'credentials-expire',
  'store-resets',
  'process-killed-at-random',
  'new-machine-from-the-store-alone',
]

const seed = Math.floor(Math.random() * 2 ** 31)
const dir = mkdtempSync(join(tmpdir(), 'draftsmith-drills-'))
let ground: Ground

before(async () => {
  ground = new Ground(await demoMaterials(dir), seed)
})
after(async () => {
  await ground.leave()
  rmSync(dir, { recursive: true, force: true, maxRetries: 20 })
})

for (const name of quick) {
  test(`drill: ${name}`, async () => {
    const drill = drills.find((one) => one.name === name)
    assert.ok(drill)
    const { outcome, reason, checks } = await hold(drill, ground)
    const broken = checks.filter(({ held }) => !held)
    assert.deepEqual({ outcome, reason, broken }, { outcome: 'held', reason: null, broken: [] })
  })
}

test('drill: an object that is lost, and one that is another, break what they should', async () => {
  const harmful: Drill = {
    ...{ name: 'harmful', breaks: 'The store itself.', matters: 'So a drill can fail.' },
    seconds: 1,
    run: async (rig) => {
      await rig.completes()
      const store = await rig.job.openStore()
      const [lost = '', other = ''] = Object.keys(rig.calm.stored.objects)
      const bytes = await store.get(other)
      await store.remove(lost)
      await store.put(other, bytes?.fill(0) ?? new Uint8Array())
      store.close()
      await rig.endsAsIfUndisturbed()
    },
  }
  const { outcome, checks } = await hold(harmful, ground)
  assert.equal(outcome, 'broken')
  const broken = checks.filter(({ held }) => !held)
  assert.deepEqual(
    broken.map(({ what, samples }) => [what, samples.length]),
    [
      ['what the manifest names is in the store, whole', 1],
      ['what was committed once stays committed, and its object stays', 1],
      ['keys and bytes are those of an undisturbed run', 2],
    ],
  )
})
