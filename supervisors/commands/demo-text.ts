import type { DemoGains, Gain } from './kept-gains.ts'

/** What people read of what the demo's drafter gains. */
export function gainsText({ untrained, heldOutRows, heldOutThemes }: DemoGains): string[] {
  const known = ({ overlap4, overlap8 }: DemoGains['heldOutRows']) =>
    `trained on: ${percent(overlap4)} of its answers' 4-grams, ${percent(overlap8)} of the 8-grams`
  return [
    'Tokens of its own text that one step of the target brings (greedy; the text stays the same):',
    '  no drafter                  1.00',
    `  the drafter, untrained      ${gainText(untrained)}`,
    `  trained, on held-out rows   ${gainText(heldOutRows)}`,
    `                              ${known(heldOutRows)}`,
    `  trained, on other themes    ${gainText(heldOutThemes)}`,
    `                              ${known(heldOutThemes)}`,
  ]
}

function gainText({ tau, interval, prompts }: Gain): string {
  const range = interval ? ` (95 %: ${interval.map((end) => end.toFixed(2)).join(' to ')})` : ''
  return `${tau === null ? '–' : tau.toFixed(2)}${range}, ${prompts} prompts`
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`
