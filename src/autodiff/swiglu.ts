import type { Value } from '../graph/ops.ts'
import { composite } from './composite.ts'

/**
 * silu(gate) ⊙ up. Keeps its inputs alone: what a sigmoid costs again is less than what it holds.
 *
 * @param inputs  gate and up, float32 of one shape
 * @returns       float32, their shape
 */
export const swiglu = composite<readonly [gate: Value, up: Value], object, readonly [Value]>({
  forward(b, [gate, up]) {
    return [b.mul(b.mul(gate, b.op('Sigmoid', [gate], {})), up)]
  },
  vjp({ b, inputs: [gate, up], g }) {
    const sigmoid = b.op('Sigmoid', [gate], {})
    const silu = b.mul(gate, sigmoid)
    // d silu = σ + silu (1 − σ) = σ + silu − silu σ
    const slope = () => b.sub(b.add(sigmoid, silu), b.mul(silu, sigmoid))
    return [() => b.mul(b.mul(g, up), slope()), () => b.mul(g, silu)]
  },
})
