import { join } from 'node:path'
import type { Config } from '../../src/config/schema.ts'
import { contentHash } from '../../src/dataset/fingerprint.ts'
import type { Acceptance } from '../../src/decode/acceptance.ts'
import { demoConversations } from '../../src/demo/dataset.ts'
import { overlap } from '../../src/demo/overlap.ts'
import { type Tokens, tokensOf } from '../../src/demo/tokens.ts'
import { drafterFiles } from '../../src/export/drafter-files.ts'
import { writeFolder } from '../../src/export/folder.ts'
import { parseDataState } from '../../src/feed/data-state.ts'
import { isHeldOut } from '../../src/feed/split.ts'
import { openDrafter } from '../../src/models/drafter.ts'
import type { DrafterConfig } from '../../src/models/drafter-config.ts'
import { drafterConfigJson } from '../../src/models/drafter-config-json.ts'
import { drafterTensors, initialDrafter } from '../../src/models/drafter-tensors.ts'
import type { TensorToWrite } from '../../src/safetensors/write.ts'
import { openStore } from '../../src/store/open.ts'
import { fetchTrainedDrafter, type TrainedDrafter } from '../keeping/trained-drafter.ts'
import { evaluationOf } from './eval.ts'
import { type DemoGains, type Gain, keepGains, keptGains, type Overlaps } from './kept-gains.ts'

/** What the demo's drafter gains, beside what it gained untrained: by real decoding. */

const limit = 40
/** They all say the same of a drafter that knows nothing. */
const limitUntrained = 10
const maxNewTokens = 160

/** @param prompts  of the themes that no row is of: JSON lines */
export async function demoGains(
  { store, target, train, work }: Config,
  prompts: string,
): Promise<DemoGains> {
  const settings = { work: join(work, 'eval'), target: target.path, limit, maxNewTokens }
  const greedy = { ...settings, temperature: 0, seed: 0 }
  const trained = await fetchTrainedDrafter(await openStore(store), settings.work)
  const { name } = trained.checkpoint
  const kept = await keptGains(work, name)
  if (kept) return kept
  const untrained = await writeUntrained(join(work, 'untrained'), trained, train?.seed ?? 0)
  const texts = textsOf(trained)
  const few = { ...greedy, limit: limitUntrained }
  const before = gainOf(
    await evaluationOf(store, { ...few, drafter: untrained, what: 'untrained drafter' }),
  )
  const themes = gainOf(await evaluationOf(store, { ...greedy, prompts, what: 'other themes' }))
  // Last, since the last is what an export's card shows.
  const rows = gainOf(await evaluationOf(store, { ...greedy, what: 'held-out rows' }))
  const themesTexts = demoConversations('heldOut').map(tokensOf)
  return await keepGains(work, name, {
    untrained: before,
    heldOutRows: { ...rows, ...overlaps(texts.training, texts.heldOut) },
    heldOutThemes: { ...themes, ...overlaps(texts.training, themesTexts) },
  })
}

const gainOf = ({ acceptance }: { readonly acceptance: Acceptance }): Gain => {
  const { interval, prompts, tau } = acceptance
  return { tau, interval, prompts }
}

const overlaps = (training: readonly Tokens[], heldOut: readonly Tokens[]): Overlaps => ({
  overlap4: overlap(training, heldOut, 4),
  overlap8: overlap(training, heldOut, 8),
})

/** The demo's rows, on the sides on which its training had them. */
function textsOf({ checkpoint }: TrainedDrafter) {
  const { split } = parseDataState(checkpoint.state.data).log
  const rows = demoConversations('rows').map(tokensOf)
  const isOut = ({ ids }: Tokens) =>
    isHeldOut(split, contentHash(Int32Array.from(ids)).toString('hex'))
  return { training: rows.filter((row) => !isOut(row)), heldOut: rows.filter(isOut) }
}

/** The drafter as its training began. */
async function writeUntrained(dir: string, { dir: trained }: TrainedDrafter, seed: number) {
  const { config } = await openDrafter(trained)
  const json = drafterConfigJson(config, 'float32')
  await writeFolder(dir, drafterFiles(json, initialTensors(config, seed)), { overwrite: true })
  return dir
}

function initialTensors(config: DrafterConfig, seed: number): TensorToWrite[] {
  const values = initialDrafter(config, seed)
  return drafterTensors(config).map(({ name, shape }) => {
    const found = values.get(name)
    if (!found) throw new Error(`no first value. tensor=${name}`)
    const data = new Uint8Array(found.buffer, found.byteOffset, found.byteLength)
    return { name, shape, dtype: 'F32', data }
  })
}
