/** The README of an exported drafter: whose it is, how it was trained, how good it is, its use. */
import type { KeptEvaluation } from '../checkpoint/evaluation.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import type { WeightType } from './zlab.ts'

export interface CardFacts {
  readonly config: DrafterConfig
  readonly dtype: WeightType
  readonly target: {
    /** The folder's name, where it lay when the run began; no path. */
    readonly name: string
    readonly fingerprint: string
  }
  readonly data: {
    /** Of the dataset: `datasetFingerprint`; null where its copy was not finished. */
    readonly fingerprint: string | null
    /** What was held out of how many; null where nothing was, or that is not known. */
    readonly split: { readonly samples: number; readonly heldOut: number } | null
  }
  readonly training: {
    readonly checkpoint: string
    readonly step: number
    /** Seen since the first step, each as often as it was seen. */
    readonly samples: number
    readonly tokens: number
    readonly heldOutLoss: number | null
    /** The simulated acceptance length on held-out samples. */
    readonly tau: number | null
    /** What decoding with it brought; null where it was not evaluated. */
    readonly evaluation: KeptEvaluation | null
    /** What it was trained with, as the configuration has it. */
    readonly settings: unknown
  }
}

const count = (value: number): string => value.toLocaleString('en-US')
const measured = (value: number | null, digits: number): string =>
  value === null ? 'not measured' : value.toFixed(digits)

/** @returns  Markdown */
export function drafterCard(facts: CardFacts): string {
  const { config, target } = facts
  const warnings = drafterWarnings(config)
  return [
    '---',
    'tags: [dflash, speculative-decoding]',
    '---',
    '',
    `# DFlash drafter for ${target.name}`,
    '',
    `It drafts blocks of ${config.blockSize} tokens for the target that it was trained on, and for`,
    'no other. Embedding and head are the target’s own, and are not in here.',
    '',
    ...tableOf(facts),
    '',
    ...settingsOf(facts.training.settings),
    ...usageOf(config),
    ...(warnings.length > 0 ? ['', '## Limits', '', ...warnings.map((text) => `- ${text}`)] : []),
    '',
  ].join('\n')
}

function tableOf({ config, dtype, target, data, training }: CardFacts): string[] {
  const { layers, hiddenSize, targetLayerIds, targetLayers } = config
  const rows: readonly (readonly [string, string])[] = [
    ['Target', `${target.name}, ${targetLayers} layers; fingerprint \`${target.fingerprint}\``],
    ['Looks at layers', `${targetLayerIds.join(', ')} (from 0, their outputs)`],
    ['Drafter', `${layers} layers, hidden size ${hiddenSize}, weights in ${dtype}`],
    ['Data', dataOf(data)],
    ['Trained', `${count(training.step)} steps, checkpoint \`${training.checkpoint}\``],
    [
      'Seen',
      `${count(training.samples)} samples, ${count(training.tokens)} tokens, with repetitions`,
    ],
    ['Acceptance length τ', decodedText(training.evaluation)],
    ['Simulated τ', `${measured(training.tau, 2)} (no text was decoded; held-out samples)`],
    ['Loss', `${measured(training.heldOutLoss, 4)} (held-out samples)`],
  ]
  return ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)]
}

/** Of the weights as they were trained, in float32: what rounding does to it was not measured. */
function decodedText(found: KeptEvaluation | null): string {
  if (found === null) return 'not measured: nothing was decoded with this checkpoint'
  const [low, high] = (found.interval ?? []).map((end) => end.toFixed(2))
  const range = found.interval ? ` (95 % over prompts: ${low} to ${high})` : ''
  const how = found.temperature === 0 ? 'greedy' : `temperature ${found.temperature}`
  const texts = `${count(found.prompts)} prompts from ${found.promptsFrom}`
  const changed =
    found.changed > 0 ? `; ${count(found.changed)} texts were not the target’s own` : ''
  const most = `at most ${count(found.maxNewTokens)} tokens each`
  return `${found.tau.toFixed(2)}${range}: ${texts}, decoded in float32, ${how}, ${most}${changed}`
}

function dataOf({ split, fingerprint }: CardFacts['data']): string {
  const dataset = `dataset ${fingerprint === null ? 'not known' : `\`${fingerprint}\``}`
  if (split === null) return dataset
  return `${dataset}: ${count(split.samples)} samples, of them ${count(split.heldOut)} held out`
}

function settingsOf(settings: unknown): string[] {
  if (settings === null || settings === undefined) return []
  const json = JSON.stringify(settings, null, 2)
  return ['## Trained with', '', '```json', json, '```', '']
}

function usageOf({ blockSize }: DrafterConfig): string[] {
  return [
    '## Use',
    '',
    '```sh',
    'vllm serve TARGET --speculative-config \\',
    `  '{"method": "dflash", "model": "THIS_FOLDER", "num_speculative_tokens": ${blockSize - 1}}'`,
    'python -m sglang.launch_server --model-path TARGET --speculative-algorithm DFLASH \\',
    `  --speculative-draft-model-path THIS_FOLDER --speculative-num-draft-tokens ${blockSize}`,
    '```',
    '',
    '```python',
    '# github.com/z-lab/dflash, with transformers 4.57.1',
    'from dflash.model import DFlashDraftModel',
    '',
    'drafter = DFlashDraftModel.from_pretrained("THIS_FOLDER", dtype="auto").eval()',
    '```',
  ]
}

/** What whoever serves such a drafter must know. */
export const drafterWarnings = (config: DrafterConfig): string[] => [
  ...slidingWarnings(config),
  ...vocabWarnings(config),
]

function slidingWarnings({ layerTypes, slidingWindow }: DrafterConfig): string[] {
  const sliding = layerTypes.filter((type) => type === 'sliding_attention').length
  if (sliding === 0) return []
  const all = layerTypes.length
  const ignored =
    `Sliding layers: ${sliding} of ${all}. Each sees ${slidingWindow} positions, and no later ` +
    'slot of its own block. z-lab’s Transformers code ignores the window under eager and sdpa ' +
    'attention, and sees the whole block: there the drafter is not run as it was trained.'
  const mixed =
    'vLLM serves sliding and full layers together with VLLM_USE_V2_MODEL_RUNNER=1 alone.'
  return sliding < all ? [ignored, mixed] : [ignored]
}

function vocabWarnings({ draftVocabSize, vocabSize }: DrafterConfig): string[] {
  if (draftVocabSize === null) return []
  return [
    `It drafts ${count(draftVocabSize)} of ${count(vocabSize)} tokens. vLLM reads which; z-lab’s ` +
      'code and SGLang do not, and let it draft the others too, for which it was not trained.',
  ]
}
