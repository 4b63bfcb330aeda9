import { symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Drill } from './drill.ts'
import type { Job } from './rig/job.ts'
import { toldOf } from './rig/told.ts'
import { writeBeside } from './two-supervisors.ts'

export const newMachine: Drill = {
  name: 'new-machine-from-the-store-alone',
  breaks: 'The machine is gone in mid-run: dataset, configuration, spool and logs with it.',
  matters: 'A spot node does not come back. Whatever replaces it has the store, and a target.',
  seconds: 20,
  async run(rig) {
    const { job } = rig
    // Where its dataset was, there is nothing afterwards.
    const dataset = join(job.dir, 'its-dataset')
    symlinkSync(job.dataset, dataset)
    const first = writeBeside(job, 'first-machine', { dataset: { path: dataset } })
    const how = { args: ['run', first.config, '--json'], job: first }
    const crash = { at: 'ledger.stored', hit: 30, end: 'all' } as const
    const seen = await rig.killed(rig.start(crash, how), first)
    unlinkSync(dataset)
    const onNew: Job = { ...job, work: join(job.dir, 'new-machine') }
    const args = ['resume', job.storeUrl, '--work', onNew.work, '--target', job.target, '--json']
    const running = rig.start({}, { args: [...args, ...job.storeArgs], job: onNew })
    const { extracted } = toldOf(await rig.exits(running, 0))
    await rig.endsAsIfUndisturbed(onNew)
    const missing = rig.calm.samples - seen.entries.size
    const computed = extracted?.samples
    const isAll = computed === missing
    rig.check('what was committed is not computed again', isAll, `${computed} of ${missing}`)
  },
}
