import { join } from 'node:path'
import { contentHash } from '../../src/dataset/fingerprint.ts'
import { eachOf } from '../../src/each-of.ts'
import { Failure } from '../../src/failure.ts'
import { captureNames } from '../../src/models/hidden-states.ts'
import type { RunIdentity } from '../../src/run/identity.ts'
import { type Expected, examine, isLeft } from '../../src/sample/earlier.ts'
import { sampleMetadata } from '../../src/sample/encode.ts'
import { type SpooledSample, spoolName } from '../../src/spool/name.ts'
import { inspect } from '../../src/spool/recover.ts'
import { openSpool } from '../../src/spool/spool.ts'

/**
 * A spooled file's name tells its row and nothing of target, layers or type. So a work folder in
 * which another run has left files would give them to this one's store, under rows of this one's.
 */

/** Files looked at together: their headers and token ids, not their states. */
const atOnce = 4
/** Of a file that must be read whole. */
const readBytes = 1 << 20

/**
 * Looks at every spooled file. Those that are torn are no matter: they are computed again.
 *
 * @returns  how many there are
 * @throws   Failure `invalid`: one is whole, and no sample of this run
 */
export async function requireOwnSpool(work: string, identity: RunIdentity): Promise<number> {
  const spool = await openSpool(join(work, 'spool'))
  const { samples } = await spool.list()
  const captures = captureNames(identity)
  const { dtype, hiddenSize: hidden } = identity
  const metadata = sampleMetadata(identity.target, captures)
  const expected = {
    format: { captures, hidden, dtype, metadata },
    maxTokens: Number.POSITIVE_INFINITY,
  }
  await eachOf(samples, atOnce, async (sample) => {
    const path = spool.path(sample)
    const fault = await faultOf(path, sample, expected)
    if (fault === null) return
    const whole = (await inspect(path, sample, new Uint8Array(readBytes))) === 'whole'
    if (whole) throw another(spool.dir, spoolName(sample), fault)
  })
  return samples.length
}

/** Why the file cannot be this run's sample of that name; null where it is. */
async function faultOf(
  path: string,
  { hash, tokens }: SpooledSample,
  expected: Expected,
): Promise<string | null> {
  const found = await examine(path, expected)
  if (isLeft(found)) return `${found.left}: ${found.facts}`
  const { ids } = found
  if (ids.length !== tokens) return `tokens: want=${tokens}, found=${ids.length}`
  const inside = contentHash(ids).toString('hex')
  return inside === hash ? null : `hash of its token ids: want=${hash}, found=${inside}`
}

const another = (dir: string, file: string, fault: string): Failure =>
  new Failure('invalid', `the spool holds what is not of this run. path=${dir}/${file}, ${fault}`, {
    remedy:
      'Give this run another work folder, or run first, with its own configuration, what these ' +
      'files are of: that sends them. Or remove them: what they hold is computed again.',
  })
