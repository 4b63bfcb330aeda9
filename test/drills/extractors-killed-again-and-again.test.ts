import assert from 'node:assert/strict'
import { test } from 'node:test'
import { start } from '../../supervisors/drills/rig/process.ts'
import { ask, statusWhen } from '../../supervisors/drills/rig/socket.ts'
import { layOutJob } from '../support/crash/job.ts'

/** Sessions of onnxruntime that are opened and dropped, over and over, in one process (B41). */

const times = 10
const extractors = [0, 1, 2, 3].map((nth) => `extractor/${nth}`)

test(`four extractors are killed ${times} times each: the process ends well`, async (t) => {
  const rows = 40
  const job = await layOutJob(t, { rows, extractors: extractors.length })
  const run = start(t, ['run', job.config, '--json'], job)
  // Before the first of them is up: it would do all there is.
  await statusWhen(run, job, ({ state }) => state === 'running')
  assert.equal(await ask(job, 'pause'), 'Paused. `continue` goes on.')
  for (let round = 0; round < times; round++) {
    await statusWhen(run, job, ({ actors }) => {
      const all = actors?.children.flatMap(({ children }) => children) ?? []
      const up = all.filter(({ id, state }) => extractors.includes(id) && state === 'running')
      return up.length === extractors.length && up.every(({ restarts }) => restarts === round)
    })
    const said = await Promise.all(extractors.map((id) => ask(job, `kill ${id}`)))
    for (const text of said) assert.match(text, /was ended/)
  }
  await ask(job, 'continue')
  const { code, stdout, stderr } = await run.ended()
  assert.equal(code, 0, stderr)
  assert.doesNotMatch(stderr, /the process died/)
  assert.equal(JSON.parse(stdout).rows.committed, rows)
})
