import type { Builder } from '../graph/builder.ts'
import type { Value } from '../graph/ops.ts'

/** KL of a teacher's distribution p and the learner's q, row by row. */
export interface Divergence {
  /** Σ p (ln p − ln q): float32 [rows, 1] */
  readonly divergence: Value
  /** q − p, [rows, vocab]: what the divergence changes by with the learner's logits. */
  readonly slope: Value
}

/**
 * @param logits   of the learner, float32 [rows, vocab], divided by the temperature
 * @param teacher  the same of the teacher
 */
export function divergenceOf(
  b: Builder,
  { logits, teacher }: { readonly logits: Value; readonly teacher: Value },
): Divergence {
  const [q, p] = [softmax(b, logits), softmax(b, teacher)]
  const apart = b.sum(b.mul(p.shares, b.sub(teacher, logits)), [1])
  return {
    divergence: b.add(apart, b.sub(q.logTotal, p.logTotal)),
    slope: b.sub(q.shares, p.shares),
  }
}

/** Shares, and the logarithm of what they are divided by: [rows, 1]. */
function softmax(b: Builder, logits: Value): { shares: Value; logTotal: Value } {
  const greatest = b.op('ReduceMax', [logits, b.graph.integers([1])], { keepdims: 1 })
  const powers = b.op('Exp', [b.sub(logits, greatest)], {})
  const total = b.sum(powers, [1])
  return {
    shares: b.div(powers, total),
    logTotal: b.add(b.op('Log', [total], {}), greatest),
  }
}
