/** Groups rows into batches under a budget. Pure; knows lengths, never tokens. */
import { shuffle } from '../shuffle.ts'

/** What a plan follows from, beside the rows' lengths. */
export interface PlanOptions {
  /** Padded tokens a batch: its rows times its longest. A row longer than this is a batch alone. */
  readonly tokenBudget: number
  /** Longer rows are in no batch. */
  readonly maxTokens: number
  readonly outputBytesPerToken: number
  /** What a batch's padded tokens may make in all. */
  readonly outputBytesMax: number
  readonly seed: number
  /** The dataset's first rows that count; null: all. */
  readonly limit: number | null
}

/** Which rows are computed together: batches by their index, from 0, in the order they are run. */
export interface Plan {
  readonly batches: number
  /** Rows in all batches. */
  readonly rowsPlanned: number
  /** Rows that are null, empty or too long, ascending. */
  readonly unplanned: Uint32Array
  /** The batch's rows, shortest first: a view on the plan. */
  rows(batch: number): Uint32Array
}

/** By what name a batch of a plan is told. */
export const batchId = (batch: number): string => `b${String(batch).padStart(6, '0')}`

/**
 * Makes the plan. The same lengths and options always give the same plan: extracted bits depend on
 * which rows share a batch, so this order is part of a run and changes only with its version.
 *
 * 1. The rows (the first `limit`) are cut into windows of consecutive rows: a window ends with the
 *    row that brings its plannable tokens to max(2^22, 16 budgets). So a window's rows lie close
 *    together on disk, and windows before the end stay when a dataset grows.
 * 2. Windows come in an order shuffled by the seed, so that early output represents the dataset.
 * 3. Within window w, rows are shuffled by a generator seeded with seed and w, then sorted by
 *    length; equal lengths keep the shuffled order. Batches are cut off that list, shortest first,
 *    each as long as rows × longest stays within both budgets; then the batches are shuffled.
 *
 * Shuffles are Fisher-Yates from the end, on Mulberry32 (`seededRandom`).
 *
 * @param lengths  int32 [rows], −1 for null rows
 */
export function planBatches(lengths: Int32Array, options: PlanOptions): Plan {
  const count = Math.min(lengths.length, options.limit ?? lengths.length)
  const windows = cutWindows(lengths.subarray(0, count), options)
  const order = new Uint32Array(windows.rowsPlanned)
  // Where each batch starts in `order`; the last entry is the end.
  const starts: number[] = [0]
  const windowOrder = Uint32Array.from(windows.starts.keys())
  shuffle(windowOrder, options.seed)
  for (const window of windowOrder) {
    const start = windows.starts[window]
    const end = windows.starts[window + 1] ?? count
    planWindow(lengths, { start, end, window }, options, { order, starts })
  }
  const { rowsPlanned, unplanned } = windows
  const rows = (batch: number) => order.subarray(starts[batch], starts[batch + 1])
  return { batches: starts.length - 1, rowsPlanned, unplanned, rows }
}

const isPlannable = (length: number, { maxTokens }: PlanOptions): boolean =>
  length > 0 && length <= maxTokens

function cutWindows(lengths: Int32Array, options: PlanOptions) {
  const windowTokens = Math.max(2 ** 22, 16 * options.tokenBudget)
  const starts: number[] = []
  const unplanned: number[] = []
  let tokens = windowTokens
  for (let row = 0; row < lengths.length; row++) {
    if (tokens >= windowTokens) {
      starts.push(row)
      tokens = 0
    }
    const length = lengths[row]
    if (isPlannable(length, options)) tokens += length
    else unplanned.push(row)
  }
  const rowsPlanned = lengths.length - unplanned.length
  return { starts, rowsPlanned, unplanned: Uint32Array.from(unplanned) }
}

interface Window {
  readonly start: number
  readonly end: number
  /** Its place in the dataset, which seeds it. */
  readonly window: number
}

function planWindow(
  lengths: Int32Array,
  { start, end, window }: Window,
  options: PlanOptions,
  out: { readonly order: Uint32Array; readonly starts: number[] },
): void {
  // Spread over the 32 bits that seed the generator, so that neighbours do not resemble each other.
  const seed = options.seed ^ Math.imul(window + 1, 0x9e3779b1)
  const rows = sortedRows(lengths, { start, end }, options, seed)
  const cuts = cutBatches(lengths, rows, options)
  const batchOrder = Uint32Array.from(cuts.keys())
  shuffle(batchOrder, seed + 1)
  for (const batch of batchOrder) {
    const batchRows = rows.subarray(cuts[batch], cuts[batch + 1])
    const at = out.starts.at(-1) ?? 0
    out.order.set(batchRows, at)
    out.starts.push(at + batchRows.length)
  }
}

/** The window's plannable rows by length; equal lengths in an order of the seed's. */
function sortedRows(
  lengths: Int32Array,
  { start, end }: { readonly start: number; readonly end: number },
  options: PlanOptions,
  seed: number,
): Uint32Array {
  const rows = new Uint32Array(end - start)
  let count = 0
  for (let row = start; row < end; row++) {
    if (isPlannable(lengths[row], options)) rows[count++] = row
  }
  const shuffled = rows.subarray(0, count)
  shuffle(shuffled, seed)
  // Length and place as one number: sorting numbers needs no comparison function, which is slow.
  const keys = new Float64Array(count)
  for (let i = 0; i < count; i++) keys[i] = lengths[shuffled[i]] * count + i
  keys.sort()
  const sorted = new Uint32Array(count)
  for (let i = 0; i < count; i++) sorted[i] = shuffled[keys[i] % count]
  return sorted
}

/** Where each batch of the sorted rows starts. */
function cutBatches(lengths: Int32Array, rows: Uint32Array, options: PlanOptions): number[] {
  const outputTokensMax = options.outputBytesMax / options.outputBytesPerToken
  const paddedMax = Math.min(options.tokenBudget, outputTokensMax)
  const cuts: number[] = []
  let start = 0
  for (let i = 0; i < rows.length; i++) {
    const padded = (i - start + 1) * lengths[rows[i]]
    if (i === 0 || padded > paddedMax) {
      cuts.push(i)
      start = i
    }
  }
  return cuts
}
