import { mkdirSync, readdirSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Drill } from './drill.ts'
import { onOwnDisk, untilSpooled } from './rig/own-disk.ts'
import { endsTelling } from './rig/told.ts'

/** What happens to the disk that finished samples wait on. */

const held = { kind: 'hold', times: 1e6, match: { key: 'hidden-states/' } } as const

export const spoolTorn: Drill = {
  name: 'spool-torn',
  breaks: 'After a power cut half of the spooled files lack their ends, or have another bit.',
  matters: 'A file that was not synced can be whole in name only. It must never be uploaded.',
  seconds: 20,
  needs: ['embedded'],
  async run(rig) {
    await rig.s3.setFaults([held])
    await rig.killed(rig.start({ at: 'spool.renamed', hit: 4, end: 'all' }))
    await rig.s3.setFaults([])
    const spool = join(rig.job.work, 'spool')
    const files = readdirSync(spool).filter((name) => name.endsWith('.safetensors'))
    const torn = files.filter((_, index) => index % 2 === 0)
    for (const [index, name] of torn.entries()) tear(join(spool, name), index)
    rig.check('files were torn', torn.length > 0)
    await rig.completes()
  },
}

function tear(path: string, index: number): void {
  const { size } = statSync(path)
  if (index % 2 === 0) truncateSync(path, size >> 1)
  // As long as it should be, and zeros where the disk had not come to it.
  else writeFileSync(path, Buffer.alloc(size))
}

export const spoolGone: Drill = {
  name: 'spool-goes-away',
  breaks: "In mid-run the spool's folder is gone, as when its disk is taken out; then it is back.",
  matters: 'No actor and no batch is to blame: a run must say so at once, and go on later.',
  seconds: 20,
  async run(rig) {
    const spool = join(rig.job.work, 'spool')
    const running = rig.start({ slow: { at: 'spool.before-rename', ms: 20 } })
    await running.until('a spooled file', async () => {
      const names = running.moments().filter(({ name }) => name === 'spool.renamed')
      return names.length >= 5 ? true : undefined
    })
    renameSync(spool, `${spool}-taken-away`)
    await endsTelling(rig, running, { code: 4, names: spool })
    renameSync(`${spool}-taken-away`, spool)
    rig.blow('process')
    await rig.completes()
  },
}

export const spoolReadOnly: Drill = {
  name: 'spool-read-only',
  breaks: "In mid-run the spool's disk takes no more files, as after an error of the disk's own.",
  matters: 'No actor and no batch is to blame: a run must say so at once, and go on elsewhere.',
  seconds: 20,
  needs: ['embedded', 'mount'],
  async run(rig) {
    const spool = join(rig.job.work, 'spool')
    mkdirSync(spool)
    // A disk on which a file is just being written stays as it is.
    const readOnly = 'until mount -o remount,ro "$disk" 2>/dev/null; do sleep 0.02; done'
    const turn = `${untilSpooled('.')}; ${readOnly}`
    const slow = { slow: { at: 'extractor.computed', ms: 300 } }
    const running = rig.start(slow, { command: onOwnDisk(spool, 64, turn) })
    await endsTelling(rig, running, { code: 4, names: spool })
    rig.blow('process')
    await rig.completes()
  },
}

export const diskFull: Drill = {
  name: 'disk-full',
  breaks: 'Work folder and spool lie on 8 MiB; for 4 s another program fills what is free of it.',
  matters: 'A full disk must make a run wait, not fail: it is the one thing that mends itself.',
  seconds: 25,
  needs: ['embedded', 'mount'],
  job: { freely: { spool: { keepFree: '1MB', maxBytes: '100GB' } } },
  async run(rig) {
    await rig.s3.setFaults([
      { kind: 'delay', ms: 250, times: 1e6, match: { operation: 'PutObject' } },
    ])
    const fill = 'head -c 7m /dev/zero > "$disk/another" 2>/dev/null || true'
    const meanwhile = `${untilSpooled('spool')}; ${fill}; sleep 4; rm "$disk/another"`
    const running = rig.start([], { command: onOwnDisk(rig.job.work, 8, meanwhile) })
    await rig.completes(running)
    const { actors, processes } = (await rig.figures()).restarts
    rig.check('nothing was restarted for it', actors + processes === 0, `${actors + processes}`)
  },
}
