import assert from 'node:assert/strict'
import { test } from 'node:test'
import { start } from '../../supervisors/drills/rig/process.ts'
import { readTrained } from '../../supervisors/drills/rig/trained.ts'
import { type JobOptions, layOutJob } from '../support/crash/job.ts'
import { needsSwiftShader } from '../support/needs.ts'
import { withoutVulkan, withSwiftShader } from '../support/swiftshader.ts'

/** A whole run whose drafter is trained on webgpu, killed in between; and one without a driver. */

const optionsFor = (device: string): JobOptions => ({
  rows: 10,
  tokens: { min: 60, max: 64 },
  train: {
    devices: [device],
    epochs: 1,
    layers: 1,
    blockSize: 4,
    anchors: 4,
    tokensPerStep: 256,
    tokensPerBatch: 128,
    heldOut: null,
    checkpointMinutes: 0.001,
  },
})

test('webgpu: a training that is killed goes on, to about what cpu comes to', async (t) => {
  const driver = needsSwiftShader(t)
  if (driver === undefined) return
  const [onCpu, onGpu] = [
    await layOutJob(t, optionsFor('cpu')),
    await layOutJob(t, optionsFor('webgpu')),
  ]
  const { code, stderr } = await start(t, ['run', onCpu.config], onCpu).ended()
  assert.equal(code, 0, stderr)
  const { LD_LIBRARY_PATH = '', VK_ICD_FILENAMES = '' } = withSwiftShader(driver)
  const env = { ...onGpu.env, LD_LIBRARY_PATH, VK_ICD_FILENAMES }
  const crash = { at: 'trainer.stepped', hit: 2, end: 'all' } as const
  const killed = await start(t, ['run', onGpu.config], { ...onGpu, env, crash }).ended()
  assert.equal(killed.code, null, killed.stderr)
  const ended = await start(t, ['run', onGpu.config], { ...onGpu, env }).ended()
  assert.equal(ended.code, 0, ended.stderr)
  const [wanted, found] = [await readTrained(onCpu), await readTrained(onGpu)]
  assert.equal(found.step, wanted.step)
  for (const [step, { loss }] of wanted.lines) {
    const line = found.lines.get(step)
    assert.ok(line && Math.abs(line.loss / loss - 1) < 1e-3, `step ${step}: ${line?.loss}, ${loss}`)
  }
})

test('webgpu: without a driver, nothing is begun', async (t) => {
  const job = await layOutJob(t, optionsFor('webgpu'))
  const { VK_ICD_FILENAMES = '', VK_DRIVER_FILES = '' } = withoutVulkan()
  const env = { ...job.env, VK_ICD_FILENAMES, VK_DRIVER_FILES }
  const { code, stderr } = await start(t, ['run', job.config], { ...job, env }).ended()
  assert.equal(code, 2, stderr)
  assert.match(stderr, /device cannot be used. device=webgpu/)
  assert.match(stderr, /Install a driver/)
})
