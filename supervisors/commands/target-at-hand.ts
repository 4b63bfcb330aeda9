import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Failure } from '../../src/failure.ts'
import { openTarget, type Target } from '../../src/models/target.ts'
import type { Run } from '../../src/run/identity.ts'

/**
 * The target of a run, for a command that can do with it: the one that is named; else where it lay
 * when the run began, should it be there.
 *
 * @throws  Failure `invalid`: there is none where it is said to be, or it is another
 */
export async function targetAtHand(
  run: Run,
  named: string | undefined,
): Promise<Target | undefined> {
  if (named === undefined && !existsSync(join(run.targetPath, 'config.json'))) return undefined
  const target = await openTarget(named === undefined ? run.targetPath : resolve(named))
  const found = await target.fingerprint()
  if (found === run.identity.target) return target
  const facts = `dir=${target.dir}, want=${run.identity.target}, found=${found}`
  throw new Failure('invalid', `it is not the target of this run. ${facts}`, {
    remedy: 'Name the checkpoint directory that was extracted from with --target.',
  })
}
