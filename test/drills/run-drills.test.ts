import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Drill } from '../../supervisors/drills/drill.ts'
import { hold } from '../../supervisors/drills/hold.ts'
import { drillGround, testDrills } from '../support/crash/held-drills.ts'

/** A whole process, its machine, its store: some of the drills that `--all` holds. */

const ground = await drillGround()

testDrills(ground, ['credentials-expire', 'new-machine-from-the-store-alone'])

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
      ['keys and bytes are those of an undisturbed run', 2],
      ['what was committed once stays committed, and its object stays', 1],
    ],
  )
})
