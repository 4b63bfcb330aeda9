/** The demo's own text: small questions with answers that can be foretold, drawn by a seed. */
import type { Random } from '../clock.ts'

export interface Exchange {
  readonly question: string
  readonly answer: string
}

/** A kind of question; drawn anew each time. */
type Theme = (random: Random) => Exchange

const words: Readonly<Record<string, string>> = {
  sample: 'A sample is one row of the dataset.',
  batch: 'A batch is a planned group of samples under a token budget.',
  spool: 'The spool is the local folder of finished samples that are not yet committed.',
  stored: 'A sample is stored once the store has acknowledged it and that was checked.',
  committed: 'A sample is committed once a manifest segment that names it is in the store.',
  drill: 'A drill kills something real and then checks that nothing was lost.',
  reader: 'The reader plans batches, and hands one to each extractor that asks.',
  extractor: "An extractor runs the target over a batch and keeps its layers' hidden states.",
  uploader: 'An uploader sends finished samples to the store and confirms that they are there.',
  ledger: 'The ledger owns what is spooled, uploading, stored and committed.',
  manifest: 'The manifest is the record of what is stored: segments that are never changed.',
  supervisor: 'A supervisor starts its children, watches them, and restarts those that die.',
}

const whole = (random: Random, from: number, to: number): number =>
  from + Math.floor(random() * (to - from + 1))

const pick = <T>(random: Random, choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)]!

const upTo = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

const themes: readonly Theme[] = [
  (random) => {
    const [a, b] = [whole(random, 2, 99), whole(random, 2, 99)]
    return { question: `What is ${a} + ${b}?`, answer: `${a} + ${b} = ${a + b}.` }
  },
  (random) => {
    const [a, b] = [whole(random, 2, 12), whole(random, 2, 12)]
    return { question: `What is ${a} times ${b}?`, answer: `${a} times ${b} is ${a * b}.` }
  },
  (random) => {
    const from = whole(random, 1, 60)
    const to = from + whole(random, 4, 30)
    return { question: `Count from ${from} to ${to}.`, answer: `${upTo(from, to).join(', ')}.` }
  },
  (random) => {
    const [word, times] = [pick(random, Object.keys(words)), whole(random, 2, 12)]
    const answer = `${Array.from({ length: times }, () => word).join(' ')}.`
    return { question: `Say "${word}" ${times} times.`, answer }
  },
  (random) => {
    const [a, b] = [whole(random, 1, 499), whole(random, 500, 999)]
    const [first, second] = random() < 0.5 ? [a, b] : [b, a]
    return { question: `Which is larger, ${first} or ${second}?`, answer: `${b} is larger.` }
  },
  (random) => {
    const [word, meaning] = pick(random, Object.entries(words))
    return { question: `In Draftsmith, what does "${word}" mean?`, answer: meaning }
  },
  (random) => {
    const word = pick(random, Object.keys(words))
    const letters = [...word]
    return { question: `Spell "${word}" backwards.`, answer: `${letters.reverse().join('-')}.` }
  },
]

/** Conversations of one to four exchanges, no two the same. The same draws give the same ones. */
export function* conversations(random: Random): Generator<readonly Exchange[], never> {
  const seen = new Set<string>()
  for (;;) {
    const exchanges = upTo(1, whole(random, 1, 4)).map(() => pick(random, themes)(random))
    const text = JSON.stringify(exchanges)
    if (seen.has(text)) continue
    seen.add(text)
    yield exchanges
  }
}
