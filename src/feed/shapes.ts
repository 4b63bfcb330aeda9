/**
 * The shapes of training graphs. A session is built for each, so there are few: lengths are padded
 * to a ladder, and rows are as many as the budget bears, or that halved.
 */

/** Padded: so many rows of so many tokens each. */
export interface Shape {
  readonly rows: number
  readonly tokens: number
}

const quantum = 64
/** At most a fifth of a padded row is padding, as far as multiples of 64 allow. */
const step = 1.25

/** The lowest rung that holds so many tokens: of 64, 128, 192, 256, 320, 448, 576, 768, 960, … */
export function rungOf(tokens: number): number {
  let rung = quantum
  while (rung < tokens) rung = Math.ceil(Math.max(rung + quantum, rung * step) / quantum) * quantum
  return rung
}

/** Rows of so many tokens that fill the budget; one at least, be it longer than the budget. */
export const fullRows = (tokens: number, budget: number): number =>
  Math.max(1, Math.floor(budget / tokens))

/** For fewer samples than fill the budget: its rows halved as long as all find room. */
export function shapeFor(samples: number, tokens: number, budget: number): Shape {
  let rows = fullRows(tokens, budget)
  while (rows > 1 && Math.ceil(rows / 2) >= samples) rows = Math.ceil(rows / 2)
  return { rows, tokens }
}
