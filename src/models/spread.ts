import type { Random } from '../clock.ts'

/**
 * Uniform around 0, of the given standard deviation: no logarithm, which engines may round their
 * own way.
 */
export function spread(random: Random, count: number, deviation: number): Float32Array {
  const width = 2 * Math.sqrt(3) * deviation
  const values = new Float32Array(count)
  for (let i = 0; i < count; i++) values[i] = (random() - 0.5) * width
  return values
}
