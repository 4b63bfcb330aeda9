/**
 * Makes the demo's target: trains a small Qwen3 with this project's own gradients on text that this
 * project draws or is made of. Started again, it goes on where it was.
 *
 * node build/scripts/demo-target.js --work DIR [--steps N] [--minutes N] [--out DIR]
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { heldOutThemes, themes } from '../src/demo/themes.ts'
import { demoVocab, marks } from '../src/demo/tokens.ts'
import { parseTargetConfig } from '../src/models/config.ts'
import { answersOf, describe } from './demo-target/answers.ts'
import { drawRows, ownText } from './demo-target/text.ts'
import { Training } from './demo-target/training.ts'
import { writeTarget } from './demo-target/write.ts'

const { values } = parseArgs({
  options: {
    work: { type: 'string' },
    out: { type: 'string' },
    steps: { type: 'string', default: '1400' },
    minutes: { type: 'string', default: '1000' },
    threads: { type: 'string', default: '2' },
    rows: { type: 'string', default: '8' },
    lr: { type: 'string', default: '2e-3' },
  },
})
if (!values.work) throw new Error('want=--work DIR')

const configJson = {
  architectures: ['Qwen3ForCausalLM'],
  attention_bias: false,
  bos_token_id: marks.start,
  dtype: 'bfloat16',
  eos_token_id: marks.end,
  head_dim: 32,
  hidden_act: 'silu',
  hidden_size: 128,
  intermediate_size: 384,
  max_position_embeddings: 512,
  model_type: 'qwen3',
  num_attention_heads: 4,
  num_hidden_layers: 8,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_parameters: { rope_theta: 10_000, rope_type: 'default' },
  tie_word_embeddings: true,
  vocab_size: demoVocab,
}

const [trainSeed, heldOutSeed] = [1, 2]
const reportEvery = 50
const root = fileURLToPath(new URL('../..', import.meta.url))
const [steps, minutes, threads] = [values.steps, values.minutes, values.threads].map(Number)
const config = parseTargetConfig(configJson, 'scripts/demo-target.ts')
const shape = { rows: Number(values.rows), tokens: 256 }
mkdirSync(values.work, { recursive: true })

const from = {
  themes: [...Object.values(themes), ...Object.values(heldOutThemes)],
  source: ownText(root),
}
const training = await Training.open({
  config,
  shape,
  state: join(values.work, 'state.safetensors'),
  threads,
  steps,
  lr: Number(values.lr),
  seed: trainSeed,
})
const started = Date.now()
const begun = training.steps
let losses: number[] = []
const isOver = () => training.steps >= steps || Date.now() - started > minutes * 60_000
while (!isOver()) {
  const rows = drawRows(shape, from, { seed: trainSeed, step: training.steps })
  losses.push(await training.step(rows))
  if (training.steps % reportEvery > 0 && !isOver()) continue
  training.save()
  const heldOut = drawRows(shape, { ...from, source: null }, { seed: heldOutSeed, step: 1 })
  const found = answersOf(heldOut, await training.read(heldOut))
  const seconds = (Date.now() - started) / 1000
  const each = (1000 * seconds) / (training.steps - begun)
  const mean = losses.reduce((a, b) => a + b, 0) / losses.length
  const line = `step=${training.steps} seconds=${seconds.toFixed(0)} ms=${each.toFixed(0)}`
  process.stdout.write(`${line} loss=${mean.toFixed(4)} ${describe(found)}\n`)
  losses = []
}
if (values.out) await writeTarget(values.out, { configJson, training })
