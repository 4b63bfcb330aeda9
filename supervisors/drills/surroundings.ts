import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Drill } from './drill.ts'
import { statusWhen } from './rig/socket.ts'

/** What a run finds around it changes while it runs. */

const hourMs = 3_600_000

/** Set below the injected clocks, for the S3 client has none: see `setClock` of the preload. */
export const clockBack: Drill = {
  name: 'clock-an-hour-back',
  breaks: 'In mid-run the clock is set back by an hour.',
  matters: 'Signatures, deadlines, locks and names all hang on it; nobody may be late, or wait.',
  seconds: 15,
  async run(rig) {
    const clock = { afterMs: 1500, byMs: -hourMs }
    await rig.completes(rig.start([{ clock }, { slow: { at: 'extractor.computed', ms: 60 } }]))
    const { actors, processes } = (await rig.figures()).restarts
    rig.check('nothing was restarted for it', actors + processes === 0, `${actors + processes}`)
  },
}

const expired = { kind: 'error', status: 400, code: 'ExpiredToken', times: 1e6 } as const

export const credentialsExpire: Drill = {
  name: 'credentials-expire',
  breaks: 'In mid-run the credentials expire; others lie where they were.',
  matters: 'Runs last for days, tokens for hours.',
  seconds: 15,
  needs: ['embedded'],
  async run(rig) {
    const file = join(rig.job.dir, 'credentials')
    const renew = (id: string) =>
      writeFileSync(file, `[default]\naws_access_key_id=${id}\naws_secret_access_key=of-${id}\n`)
    for (const id of ['K1', 'K2']) await rig.s3.addKey(id, `of-${id}`)
    renew('K1')
    const env = {
      AWS_ACCESS_KEY_ID: '',
      AWS_SECRET_ACCESS_KEY: '',
      AWS_SHARED_CREDENTIALS_FILE: file,
      AWS_EC2_METADATA_DISABLED: 'true',
    }
    const slow = { slow: { at: 'extractor.computed', ms: 100 } }
    const running = rig.start(slow, { job: { ...rig.job, env } })
    await statusWhen(running, rig.job, ({ ledger }) => (ledger?.stored.samples ?? 0) > 0)
    renew('K2')
    await rig.s3.setFaults([{ ...expired, match: { accessKeyId: 'K1' } }])
    rig.blow('anyone', ['uploader.put'])
    await rig.completes(running)
    const [left = 0] = await rig.s3.faultsLeft()
    rig.check('the old ones were tried', left < expired.times)
  },
}
