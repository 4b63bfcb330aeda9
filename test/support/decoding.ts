/** Targets that decode, for tests: on two threads, in a folder that goes. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type DecodingDrafter, openDecodingDrafter } from '../../src/decode/drafter-text.ts'
import {
  type DecodingTarget,
  openDecodingTarget,
  type Placed,
} from '../../src/decode/target-text.ts'
import { openDrafter } from '../../src/models/drafter.ts'
import { openTarget } from '../../src/models/target.ts'
import { scratch } from './target-run.ts'

export const placedIn = (dir: string): Placed => ({
  dir,
  device: 'cpu',
  threads: 2,
  onCopy: () => {},
})

export async function decodingTarget(
  t: TestContext,
  dir: string,
  layers: readonly number[],
): Promise<DecodingTarget> {
  const place = placedIn(join(await scratch(t), 'target'))
  const opened = await openDecodingTarget(await openTarget(dir), layers, place)
  t.after(() => opened.release())
  return opened
}

/** Both of a pair. */
export async function decodingPair(
  t: TestContext,
  dirs: { readonly target: string; readonly drafter: string },
): Promise<{ readonly target: DecodingTarget; readonly drafter: DecodingDrafter }> {
  const drafter = await openDrafter(dirs.drafter)
  const target = await decodingTarget(t, dirs.target, drafter.config.targetLayerIds)
  const pair = { drafter, target: await openTarget(dirs.target) }
  const opened = await openDecodingDrafter(pair, placedIn(join(await scratch(t), 'drafter')))
  t.after(() => opened.release())
  return { target, drafter: opened }
}
