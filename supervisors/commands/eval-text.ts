import { count } from '../../actors/console/numbers.ts'
import type { Speed } from '../../src/decode/evaluate.ts'
import type { Evaluated } from './eval.ts'
import { firstLines } from './first-lines.ts'

/** What people read of an evaluation. */

export function evalText(found: Evaluated): string {
  const { acceptance, differences } = found
  const { steps, interval, tau, meanOfPrompts } = acceptance
  const how = found.temperature === 0 ? 'greedy' : `temperature ${found.temperature}`
  const range = interval ? ` (95 %: ${interval.map((end) => end.toFixed(2)).join(' to ')})` : ''
  const over = `${count(steps)} steps over ${count(acceptance.prompts)} prompts, ${how}`
  return [
    ...trainedText(found),
    `τ ${figure(tau)} tokens a step${range}; mean of the prompts' means ${figure(meanOfPrompts)}`,
    `${over}, blocks of ${found.blockSize}; without a drafter it is 1`,
    `drafts that stood, by slot: ${acceptance.byPosition.map(percent).join(' ')}`,
    `steps that brought 1, 2, … tokens: ${acceptance.histogram.map(count).join(' ')}`,
    speedText(found),
    passesText(found),
    ...firstLines(differences.map(differenceText)),
    sameText(found),
  ].join('\n')
}

function trainedText({ trained }: Evaluated): string[] {
  if (trained === null) return []
  const estimate = trained.tau === null ? '' : `; while it was trained τ was ${figure(trained.tau)}`
  return [`checkpoint ${trained.checkpoint}, step ${count(trained.step)}${estimate}`]
}

const figure = (value: number | null): string => (value === null ? '–' : value.toFixed(2))
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`
const ms = (value: number | null): string => (value === null ? '–' : `${value.toFixed(1)} ms`)

function speedText({ alone, drafted }: Evaluated): string {
  const rate = ({ tokensPerSecond }: Speed) =>
    tokensPerSecond === null ? '–' : `${tokensPerSecond.toFixed(1)} tokens/s`
  const [with_, without] = [drafted.tokensPerSecond, alone.tokensPerSecond]
  const ratio = with_ && without ? `, ${(with_ / without).toFixed(2)} times as fast` : ''
  return `${rate(drafted)} with the drafter, ${rate(alone)} without${ratio}`
}

function passesText({ passes, blockSize }: Evaluated): string {
  const target = `target ${ms(passes.targetToken)} a token, ${ms(passes.targetBlock)}`
  return `forward passes: ${target} for ${blockSize} tokens; drafter ${ms(passes.drafter)}`
}

function differenceText({ prompt, at, ...of }: Evaluated['differences'][number]): string {
  const said = `${of.alone ?? 'its end'} without, ${of.drafted ?? 'its end'} with the drafter`
  const why = of.isTie ? 'a tie, within rounding' : 'more than rounding explains'
  const lead = `lead ${of.lead.toExponential(1)}`
  return `prompt ${prompt} differs from its token ${at} on: ${said}; ${lead}: ${why}`
}

function sameText({ temperature, prompts, differences, leadMin }: Evaluated): string {
  if (temperature > 0) return 'Tokens were drawn: texts with and without are not compared.'
  const same = prompts - differences.length
  const lead = leadMin === null ? '' : `; narrowest lead ${leadMin.toPrecision(2)}`
  const all = same === prompts ? `all ${count(prompts)}` : `${count(same)} of ${count(prompts)}`
  return `The target says the same with the drafter and without: ${all} prompts${lead}.`
}
