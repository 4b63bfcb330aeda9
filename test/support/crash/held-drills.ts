import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { hold } from '../../../supervisors/drills/hold.ts'
import { drills } from '../../../supervisors/drills/list.ts'
import { Ground } from '../../../supervisors/drills/rig/ground.ts'
import { demoMaterials } from '../../../supervisors/drills/rig/materials.ts'

/** The product's own drills as tests: those that take seconds. The others `drill --all` holds. */

/** Where they are held; it goes when the file's tests have ended. */
export async function drillGround(): Promise<Ground> {
  const dir = mkdtempSync(join(tmpdir(), 'draftsmith-drills-'))
  const ground = new Ground(await demoMaterials(dir), Math.floor(Math.random() * 2 ** 31))
  after(async () => {
    await ground.leave()
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 })
  })
  return ground
}

/** A test for each. */
export function testDrills(ground: Ground, names: readonly string[]): void {
  for (const name of names) {
    test(`drill: ${name}`, async () => {
      const drill = drills.find((one) => one.name === name)
      assert.ok(drill)
      const { outcome, reason, checks } = await hold(drill, ground)
      const broken = checks.filter(({ held }) => !held)
      assert.deepEqual({ outcome, reason, broken }, { outcome: 'held', reason: null, broken: [] })
    })
  }
}
