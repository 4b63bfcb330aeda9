import type { Failure } from '../../src/failure.ts'
import { openLog } from '../../src/log.ts'
import { consoleTarget } from '../log-target.ts'

/** For `openManifest` in a command of that name: what tells of its gaps is damaged. */
export const warnsOfDamage =
  (command: string) =>
  (err: Failure): void =>
    openLog({ ...consoleTarget, actor: command }).warn(
      { err },
      'a note beside the manifest is damaged',
    )
