/** How many answers are right: the model's first choice at each of their tokens is the token. */
import { marks } from '../../src/demo/tokens.ts'
import type { Rows } from './text.ts'
import type { Found } from './training.ts'

export interface Answers {
  readonly loss: number
  readonly wrong: readonly string[]
  readonly answers: number
}

/** An answer whose every token is the first choice after those before it is the greedy answer. */
export function answersOf({ ids, labels }: Rows, read: Found): Answers {
  const predicted = read.predicted.data
  const wrong: string[] = []
  let answers = 0
  let start: number | undefined
  for (let i = 0; i < ids.length; i++) {
    // A row's last answer may be cut off.
    if (ids[i] === BigInt(marks.start)) start = undefined
    if (ids[i] === BigInt(marks.assistant)) start = i
    if (start === undefined || labels[i] !== BigInt(marks.end)) continue
    answers++
    const places = Array.from({ length: i - start + 1 }, (_, j) => Number(start) + j)
    if (places.some((place) => predicted[place] !== labels[place])) {
      wrong.push(`${text(places.map((j) => labels[j]))} | ${text(places.map((j) => predicted[j]))}`)
    }
    start = undefined
  }
  return { loss: Number(read.loss.data[0]), wrong, answers }
}

export const describe = ({ loss, wrong, answers }: Answers): string =>
  [
    `heldOut=${loss.toFixed(4)} right=${answers - wrong.length}/${answers}`,
    ...wrong.slice(0, 2),
  ].join(' || ')

const text = (ids: readonly (bigint | number)[]): string =>
  Buffer.from(ids.map(Number).filter((id) => id < 256)).toString()
