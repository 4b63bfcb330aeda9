import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { ownMaterials } from '../../../../supervisors/drills/rig/materials.ts'
import { scratch } from '../../../support/target-run.ts'

test("drills: a user's own spot notice, and who is told of the run, stay out", async (t) => {
  const dir = await scratch(t)
  const path = join(dir, 'config.yaml')
  const own = {
    store: 'file:///store/',
    dataset: { path: 'rows' },
    target: { path: 'target' },
    preemption: { file: 'notice' },
    notify: { url: 'http://127.0.0.1:1' },
  }
  writeFileSync(path, stringify(own))
  const { sections } = ownMaterials(dir, path, 16)
  assert.equal(sections.store, 'file:///store')
  assert.deepEqual(
    ['preemption', 'notify', 'train'].filter((section) => section in sections),
    [],
  )
})
