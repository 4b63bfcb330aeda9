import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { keptEvaluation } from '../../../src/checkpoint/evaluation.ts'
import { saveCheckpoint } from '../../../src/checkpoint/save.ts'
import { contentHash } from '../../../src/dataset/fingerprint.ts'
import { dataState } from '../../../src/feed/data-state.ts'
import { OrderLog } from '../../../src/feed/order-log.ts'
import { isHeldOut, makeSplit, type Split } from '../../../src/feed/split.ts'
import { openStore } from '../../../src/store/open.ts'
import { float32Elements } from '../../../src/tensor/tensor.ts'
import { configOf, weightsOf } from '../../support/checkpoint.ts'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { type FinishedRun, finishedRun } from '../../support/commands/finished-run.ts'
import { folder, goldenTarget } from '../../support/commands/golden-job.ts'
import { golden, goldenJson } from '../../support/golden.ts'

/** `eval STORE_URL`: drafter and prompts come from a run's store. */

const dir = folder({ after })
let run: FinishedRun
before(async () => {
  run = await finishedRun(dir)
})
const evaluate = (...args: string[]) =>
  draftsmith(['eval', ...args, '--max-new-tokens', '10', '--json'], { dir })

const rows = goldenJson('extract', 'rows.json') as number[][]
const hashes = rows.map((ids) => contentHash(Int32Array.from(ids)))
const split = makeSplit(Buffer.concat(hashes), { seed: 1, share: 0.5 })

/** A training's checkpoint: the drafter of test/golden/dflash of this name. */
async function trained(
  url: string,
  { step, name, heldOut }: { step: number; name: string; heldOut: Split | null },
): Promise<string> {
  const rule = { seed: 1, shuffleWindow: 8, tokensPerBatch: 64, anchorRule: 'any', blockSize: 8 }
  const log = new OrderLog({ training: 'a-training', rule, split: heldOut })
  const drafter = golden('dflash', name)
  const tensors = weightsOf(drafter).map((tensor) => {
    const value = Float32Array.from(float32Elements(tensor))
    const [m, v] = [new Float32Array(value.length), new Float32Array(value.length)]
    return { name: tensor.name, shape: [...tensor.shape], value, m, v }
  })
  const progress = {
    ...{ training: 'a-training', step, samples: 1, tokens: 1, heldOutLoss: null, tau: 2.5 },
    drafter: JSON.parse(JSON.stringify(configOf(drafter))),
    ...{ target: {}, schedule: null, random: null, data: dataState(0, log.encode()) },
  }
  const writer = `20261201t080000000z-00000000000${step}`
  const store = await openStore(url)
  return (await saveCheckpoint(store, { progress, tensors }, { writer, now: step })).name
}

test('eval of a store: its newest checkpoint, on the prompts of the samples held out', async () => {
  const { url } = run.copy('newest')
  await trained(url, { step: 1, name: 'drafter_b16', heldOut: split })
  const name = await trained(url, { step: 2, name: 'drafter_b8_overfit', heldOut: split })
  const work = join(dir, 'newest', 'eval')
  const ended = await evaluate(url, '--work', work)
  assert.equal(ended.code, 0, ended.stderr)
  assertReadable(ended)
  const found = JSON.parse(ended.stdout)
  assert.deepEqual(found.trained, { checkpoint: name, step: 2, tau: 2.5 })
  assert.deepEqual([found.blockSize, found.target], [8, goldenTarget()])
  const heldOut = hashes.filter((hash) => isHeldOut(split, hash.toString('hex')))
  assert.equal(heldOut.length, 6)
  assert.ok(found.prompts >= 1 && found.prompts <= 6, `${found.prompts} prompts`)
  assert.ok(existsSync(join(work, 'drafters', name, 'config.json')))
  // It is kept for the card of an export.
  const kept = await keptEvaluation(await openStore(url), name)
  assert.ok(kept)
  const { interval, prompts, tau } = found.acceptance
  assert.deepEqual([kept.tau, kept.interval, kept.prompts], [tau, interval, prompts])
  assert.deepEqual([kept.promptsFrom, kept.maxNewTokens], ['held-out samples', 10])
  const out = join(dir, 'newest', 'drafter')
  const exported = await draftsmith(['export', url, out, '--json'], { dir })
  assert.equal(exported.code, 0, exported.stderr)
  assert.deepEqual(JSON.parse(exported.stdout).evaluation, kept)
  const card = readFileSync(join(out, 'README.md'), 'utf8')
  assert.match(card, new RegExp(`τ \\| ${tau.toFixed(2)} .*${prompts} prompts from held-out`))
  // What was fetched is used again; a text says which checkpoint it was.
  const args = ['eval', url, '--work', work, '--max-new-tokens', '4', '--limit', '1']
  const again = await draftsmith(args, { dir })
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stdout, new RegExp(`^checkpoint ${name}, step 2; while it was .* 2\\.50\n`))
})

test('eval of a store: what it lacks is said, with what to give in its place', async () => {
  const [none, all] = [run.copy('none'), run.copy('all')]
  await trained(all.url, { step: 1, name: 'drafter_b8_overfit', heldOut: null })
  const other = golden('targets', 'qwen3_tied_f32')
  const drafter = golden('dflash', 'drafter_b8')
  const [empty, nothing, target, given, nowhere] = await Promise.all([
    evaluate(none.url, '--work', join(dir, 'none', 'eval')),
    evaluate(all.url, '--work', join(dir, 'all', 'eval')),
    evaluate(all.url, '--target', other),
    evaluate(none.url, '--drafter', drafter),
    evaluate(`${none.url}-nowhere`),
  ])
  assertRefused(empty, { says: [/no complete checkpoint/, /give one with --drafter/] })
  assertRefused(nothing, { says: [/the training held nothing out/, /--prompts/] })
  assertRefused(target, { says: [/the target is not the run's. target=.*want=.*found=/] })
  // Which samples were held out only a training knows.
  assertRefused(given, { says: [/no complete checkpoint/] })
  assertRefused(nowhere, { says: [/store/] })
})
