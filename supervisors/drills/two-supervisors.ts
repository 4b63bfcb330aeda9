import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Drill } from './drill.ts'
import type { Job } from './rig/job.ts'
import { statusWhen } from './rig/socket.ts'

/** The same run, with a work folder of its own. @param sections  laid over its configuration's */
export function writeBeside(job: Job, name: string, sections: Record<string, object> = {}): Job {
  const work = join(job.dir, name)
  mkdirSync(work)
  const config = JSON.parse(readFileSync(job.config, 'utf8')) as Record<string, object>
  for (const [section, keys] of Object.entries(sections)) {
    config[section] = { ...config[section], ...keys }
  }
  const path = join(job.dir, `${name}.json`)
  writeFileSync(path, JSON.stringify({ ...config, work }))
  return { ...job, work, config: path }
}

export const twoSupervisors: Drill = {
  name: 'two-supervisors',
  breaks: 'While a run is under way, a second is started on the same store from elsewhere.',
  matters: 'Two operators, one forgotten terminal: neither may damage what the other does.',
  seconds: 20,
  async run(rig) {
    const first = rig.start({ slow: { at: 'extractor.computed', ms: 150 } })
    await statusWhen(first, rig.job, ({ state }) => state === 'running')
    const other = writeBeside(rig.job, 'elsewhere')
    await rig.exits(rig.start([], { args: ['run', other.config, '--json'], job: other }), 3)
    await rig.completes(first)
  },
}
