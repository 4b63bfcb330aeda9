import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sleep } from '../../src/clock.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { readTrained, stepsIn } from '../../supervisors/drills/rig/trained.ts'
import { layOutJob } from '../support/crash/job.ts'

/**
 * The disk of a `file://` store is unmounted for a while: what is left is an empty folder, and
 * nothing that comes to lie in it is stored.
 */

/** Long enough for several tries of what is under way. */
const awayMs = 1500

const options = { rows: 40, tokens: { min: 20, max: 60 } }
const train = {
  epochs: 2,
  layers: 1,
  blockSize: 4,
  anchors: 8,
  tokensPerStep: 256,
  tokensPerBatch: 128,
  heldOut: null,
  checkpointMinutes: 0.001,
}

/** @returns  mounts it again: what came to lie under the mount point is seen no more */
function unmount(storeUrl: string): () => void {
  const path = fileURLToPath(storeUrl)
  renameSync(path, `${path}.away`)
  mkdirSync(path)
  return () => {
    renameSync(path, `${path}.bare`)
    renameSync(`${path}.away`, path)
  }
}

const namesIn = (path: string): string[] => (existsSync(path) ? readdirSync(path) : [])

test('unmounted while a checkpoint is saved: it is saved when the store is back', async (t) => {
  const job = await layOutJob(t, { ...options, train })
  const hold = { at: 'checkpoint.model-put', hit: 2 }
  const running = start(t, ['run', job.config], { ...job, crash: { hold } })
  const folder = join(fileURLToPath(job.storeUrl), 'checkpoints')
  const isHeld = (name: string) => namesIn(join(folder, name)).join() === 'model.safetensors'
  await running.until('a half checkpoint beside a whole one', async () => {
    const folders = namesIn(folder).filter((name) => name !== 'latest.json')
    return (folders.length > 1 && folders.some(isHeld)) || undefined
  })
  const mount = unmount(job.storeUrl)
  running.letGo()
  await sleep(awayMs)
  mount()
  const { code, stderr } = await running.ended()
  assert.equal(code, 0, stderr)
  assert.equal((await readTrained(job)).step, stepsIn(job))
  const halves = namesIn(folder).filter((name) => name !== 'latest.json' && isHeld(name))
  assert.deepEqual(halves, [])
})

test('unmounted while samples are sent: all of them are there in the end', async (t) => {
  // One sample at a time: none is under way but the one that is held.
  const job = await layOutJob(t, { ...options, maxParallel: 3 })
  const hold = { at: 'uploader.put', hit: 5 }
  const running = start(t, ['run', job.config], { ...job, crash: { hold } })
  const samples = join(fileURLToPath(job.storeUrl), 'hidden-states')
  await running.until('five samples', async () => namesIn(samples).length >= 5 || undefined)
  const mount = unmount(job.storeUrl)
  running.letGo()
  await sleep(awayMs)
  mount()
  const { code, stderr } = await running.ended()
  assert.equal(code, 0, stderr)
  const verified = await start(t, ['verify', job.storeUrl, '--deep'], job).ended()
  assert.equal(verified.code, 0, verified.stdout)
})
