/** Draws for the demo's text. */
import type { Random } from '../clock.ts'

/** A whole number, both ends included. */
export const whole = (random: Random, from: number, to: number): number =>
  from + Math.floor(random() * (to - from + 1))

export const pick = <T>(random: Random, choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)]!

export const upTo = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

/** So many different ones of the choices, in the order drawn. */
export function several<T>(random: Random, choices: readonly T[], count: number): T[] {
  const left = [...choices]
  return upTo(1, count).map(() => left.splice(Math.floor(random() * left.length), 1)[0]!)
}
