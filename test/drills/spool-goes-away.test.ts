import assert from 'node:assert/strict'
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { start } from '../../supervisors/drills/rig/process.ts'
import { layOutJob } from '../support/crash/job.ts'
import { assertAsIfUndisturbed, undisturbed } from '../support/crash/undisturbed.ts'

/**
 * The spool's folder goes away in mid-run, as when its disk is taken out, or becomes what takes no
 * files. To start actors again would not help, and no batch is to blame.
 */
for (const [how, replace] of [
  ['goes away', () => undefined],
  ['makes way for a file', (path: string) => writeFileSync(path, '')],
] as const) {
  test(`spool: it ${how} in mid-run: a clear stop, and the next run goes on`, async (t) => {
    const wanted = await undisturbed(t)
    const job = await layOutJob(t, {})
    const spool = join(job.work, 'spool')
    const slow = { at: 'spool.before-rename', ms: 20 }
    const running = start(t, ['run', job.config, '--json'], { ...job, crash: { slow } })
    await running.until('a spooled file', async () => {
      const names = await readdir(spool).catch(() => [])
      return names.some((name) => name.endsWith('.safetensors')) || undefined
    })
    renameSync(spool, join(job.dir, 'taken-away'))
    replace(spool)
    const { code, stdout, stderr } = await running.ended()
    assert.equal(code, 4, stderr)
    const { reason, remedy } = JSON.parse(stdout)
    assert.match(reason, /spool.*path=.*spool/)
    assert.ok(remedy)
    const isThere = existsSync(spool)
    assert.equal(isThere, how !== 'goes away', 'none is made where its disk should be')
    // Back again, with all that was in it.
    rmSync(spool, { force: true })
    renameSync(join(job.dir, 'taken-away'), spool)
    const again = await start(t, ['run', job.config], job).ended()
    assert.equal(again.code, 0, again.stderr)
    await assertAsIfUndisturbed(job, wanted)
  })
}
