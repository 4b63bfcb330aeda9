import { readdirSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Drill } from './drill.ts'
import { draftsmithMain } from './rig/program.ts'

/** What happens to the disk that finished samples wait on. */

const held = { kind: 'hold', times: 1e6, match: { key: 'hidden-states/' } } as const

export const spoolTorn: Drill = {
  name: 'spool-torn',
  breaks: 'After a power cut half of the spooled files lack their ends, or have another bit.',
  matters: 'A file that was not synced can be whole in name only. It must never be uploaded.',
  seconds: 7,
  needs: ['embedded'],
  async run(rig) {
    await rig.s3.setFaults([held])
    await rig.killed(rig.start({ at: 'spool.renamed', hit: 8, end: 'all' }))
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
  seconds: 8,
  async run(rig) {
    const spool = join(rig.job.work, 'spool')
    const running = rig.start({ slow: { at: 'spool.before-rename', ms: 20 } })
    await running.until('a spooled file', async () => {
      const names = running.moments().filter(({ name }) => name === 'spool.renamed')
      return names.length >= 5 ? true : undefined
    })
    renameSync(spool, `${spool}-taken-away`)
    const { stdout } = await rig.exits(running, 4)
    const { reason, remedy } = JSON.parse(stdout) as { reason: string; remedy: string | null }
    rig.check('it names the spool', reason.includes(spool), reason)
    rig.check('it says what to do', remedy !== null)
    renameSync(`${spool}-taken-away`, spool)
    rig.blow('process')
    await rig.completes()
  },
}

/** A disk of its own, which nobody else sees; another program fills it for a while. */
const script = [
  'work=$1',
  'shift',
  'mount -t tmpfs -o size=8m tmpfs "$work"',
  '(sleep 3; head -c 7m /dev/zero > "$work/another" 2>/dev/null; sleep 4; rm "$work/another") &',
  'exec "$0" "$@"',
].join('\n')

export const diskFull: Drill = {
  name: 'disk-full',
  breaks: 'Work folder and spool lie on 8 MiB; for 4 s another program fills what is free of it.',
  matters: 'A full disk must make a run wait, not fail: it is the one thing that mends itself.',
  seconds: 40,
  needs: ['embedded', 'mount'],
  job: { sections: { spool: { keepFree: '1MB', maxBytes: '100GB' } } },
  async run(rig) {
    await rig.s3.setFaults([
      { kind: 'delay', ms: 250, times: 1e6, match: { operation: 'PutObject' } },
    ])
    const { work } = rig.job
    const args = ['-rm', 'sh', '-ec', script, process.execPath, work, draftsmithMain]
    const running = rig.start([], { command: { file: 'unshare', args } })
    await rig.completes(running)
    const { actors, processes } = (await rig.figures()).restarts
    rig.check('nothing was restarted for it', actors + processes === 0, `${actors + processes}`)
  },
}
