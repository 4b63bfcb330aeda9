import type { DemoGains, Gain } from './demo-gains.ts'

/** What people read of what the demo's drafter gains. */
export function gainsText({ untrained, heldOutRows, heldOutThemes }: DemoGains): string[] {
  const known = ({ overlap4, overlap8 }: DemoGains['heldOutRows']) =>
    `${percent(overlap4)} of its answers' 4-grams and ${percent(overlap8)} of its 8-grams were trained on`
  return [
    'Tokens of its own text that one step of the target brings (greedy, the same text as without):',
    '  without a drafter     1.00',
    `  untrained drafter     ${gainText(untrained)}`,
    `  trained: held-out rows   ${gainText(heldOutRows)}; ${known(heldOutRows)}`,
    `  trained: other themes    ${gainText(heldOutThemes)}; ${known(heldOutThemes)}`,
  ]
}

function gainText({ tau, interval, prompts }: Gain): string {
  const range = interval ? ` (95 %: ${interval.map((end) => end.toFixed(2)).join(' to ')})` : ''
  return `${tau === null ? '–' : tau.toFixed(2)}${range}, ${prompts} prompts`
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`
