import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { whileItRan } from '../../src/audit/invariants.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Drill } from './drill.ts'
import { onOwnDisk } from './rig/own-disk.ts'

/** Notes every 10 ms how many bytes are free, beside the folder where the disk is mounted. */
const looking =
  'while kill -0 $$ 2>/dev/null; do ' +
  'stat -f -c "%a %S" "$disk" >> "$disk/../free"; sleep 0.01; done'

export const diskSmall: Drill = {
  name: 'disk-smaller-than-the-job',
  breaks: 'The spool lies on 8 MiB, of which 2 MB must stay free, and the store is slow.',
  matters: 'Extraction is faster than any line out. What it takes of a disk others must not miss.',
  seconds: 25,
  needs: ['embedded', 'mount'],
  job: { freely: { spool: { keepFree: '2MB', maxBytes: '100GB' } } },
  async run(rig) {
    const spool = join(rig.job.work, 'spool')
    mkdirSync(spool)
    await rig.s3.setFaults([
      { kind: 'delay', ms: 400, times: 1e6, match: { operation: 'PutObject' } },
    ])
    const running = rig.start([], { command: onOwnDisk(spool, 8, looking) })
    const { stderr } = await rig.exits(running, 0)
    await rig.s3.setFaults([])
    const looks = readFileSync(join(rig.job.work, 'free'), 'utf8').trimEnd().split('\n')
    const free = looks.map((look) => look.split(' ').reduce((sum, part) => sum * Number(part), 1))
    const { keepFree } = loadConfig(rig.job.config).config.spool
    const found = { found: Math.min(...free), allowed: keepFree }
    rig.tell(['headroom'], whileItRan({ free: found }))
    rig.check('it said that it waited for room', /new samples wait for room/.test(stderr))
    await rig.endsAsIfUndisturbed()
  },
}
