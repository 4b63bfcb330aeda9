import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DrillReport } from '../../supervisors/drills/hold.ts'
import { start } from '../../supervisors/drills/rig/process.ts'
import { assertRefused, draftsmith } from '../support/commands/draftsmith.ts'
import { filesBelow, folder, listing } from '../support/commands/golden-job.ts'
import { layOutJob } from '../support/crash/job.ts'

/** The command, on a user's own configuration and store. */

const endMs = 300_000
const store = (dir: string) => join(dir, 'store')

/** A configuration of one's own, and a store in which other things lie already. */
async function ownJob(t: TestContext): Promise<{ dir: string; config: string; work: string }> {
  const { dir, config } = await layOutJob(t, { rows: 64 })
  const work = join(dir, 'drills')
  mkdirSync(work)
  for (const name of ['hidden-states/aa/mine', 'drill-beside', 'drill-0-reader-killed/mine']) {
    const path = join(store(dir), name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, name)
  }
  return { dir, config, work }
}

function reportsOf(stdout: string): readonly DrillReport[] {
  return (JSON.parse(stdout) as { drills: DrillReport[] }).drills
}

const brokenOf = ({ checks }: DrillReport) => checks.filter(({ held }) => !held)

test('drill --config: held on one’s own store, of which nothing else is touched', async (t) => {
  const { dir, config, work } = await ownJob(t)
  const before = listing(store(dir))
  const names = ['reader-killed', 'store-slow', 'training-killed']
  const args = ['drill', ...names, '--config', config, '--work', work, '--seed', '5', '--json']
  const { code, stdout, stderr } = await draftsmith(args, { dir, endMs })
  assert.equal(code, 0, stderr + stdout)
  const [held, ...skipped] = reportsOf(stdout)
  assert.ok(held)
  assert.deepEqual([held.outcome, brokenOf(held)], ['held', []])
  assert.ok(held.figures && held.figures.recoverMs.length === 1)
  assert.deepEqual(stderr.trimEnd().split('\n'), [
    'draftsmith: reader-killed: the undisturbed run, to compare with …',
    'draftsmith: reader-killed: the run that is broken …',
    'draftsmith: reader-killed: checking …',
  ])
  assert.deepEqual(
    skipped.map(({ outcome, reason }) => [outcome, reason]),
    [
      ['skipped', 'needs the embedded store, not one of your own'],
      ['skipped', "needs the demo's target and rows"],
    ],
  )
  assert.deepEqual(listing(store(dir)), before)
  assert.deepEqual(readdirSync(work), [])
})

test('drill: what somebody takes out of the store meanwhile is named, exit code 1', async (t) => {
  const { dir, config, work } = await ownJob(t)
  const before = listing(store(dir))
  const args = ['drill', 'reader-killed', '--config', config, '--work', work, '--json']
  let isOver = false
  const ended = draftsmith(args, { dir, endMs }).finally(() => {
    isOver = true
  })
  let taken: string | undefined
  while (!isOver && taken === undefined) {
    taken = filesBelow(store(dir)).find((path) => /-2-reader-killed\/hidden-states\/../.test(path))
    await sleep(20)
  }
  assert.ok(taken)
  rmSync(join(store(dir), taken))
  const { code, stdout, stderr } = await ended
  assert.equal(code, 1, stderr)
  const [report] = reportsOf(stdout)
  assert.ok(report)
  assert.equal(report.outcome, 'broken')
  const key = taken.slice(taken.indexOf('hidden-states/'))
  const same = brokenOf(report).find(({ what }) => what.startsWith('keys and bytes'))
  assert.deepEqual(same?.samples, [key])
  assert.deepEqual(listing(store(dir)), before)
  assert.deepEqual(readdirSync(work), [])
})

test('drill: Ctrl-C in mid-drill leaves no folder, and nothing in the store', async (t) => {
  const { dir, config, work } = await ownJob(t)
  const before = listing(store(dir))
  const args = ['drill', 'reader-killed', '--config', config, '--work', work]
  const running = start(t, args, { dir, endMs })
  await running.until('the run that is broken', async () =>
    filesBelow(store(dir)).some((path) => /-2-reader-killed\//.test(path)) ? true : undefined,
  )
  running.signal('SIGINT')
  const { code, stderr } = await running.ended()
  assert.equal(code, 130)
  assert.match(stderr, /^(draftsmith: [\w-]+: .+ …\n)*$/)
  assert.deepEqual(listing(store(dir)), before)
  assert.deepEqual(readdirSync(work), [])
})

test('drill: a name that is none is refused with the nearest one', async (t) => {
  const dir = folder(t)
  const ended = await draftsmith(['drill', 'reader-kiled', '--work', dir, '--json'], { dir })
  assertRefused(ended, { says: [/no such drill.*found=reader-kiled, nearest=reader-killed/] })
  assert.deepEqual(readdirSync(dir), [])
})
