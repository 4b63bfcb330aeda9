import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gradients } from '../../../src/autodiff/backward.ts'
import { seededRandom } from '../../../src/clock.ts'
import { Builder } from '../../../src/graph/builder.ts'
import { Graph } from '../../../src/graph/graph.ts'
import { spread } from '../../../src/models/spread.ts'
import { runnable } from '../../support/run-graph.ts'

// One piece; several, of even and odd length; and lengths that no even number of pieces divides.
for (const out of [5, 1024, 1536, 1284, 1025, 1538]) {
  test(`weight gradient: of ${out} rows, that of each is the sum over tokens`, async () => {
    const [rows, width] = [3, 2]
    const graph = new Graph()
    const b = new Builder(graph, 'b')
    const x = graph.input('x', { dtype: 'F32', shape: [rows, width] })
    const weight = graph.input('weight', { dtype: 'F32', shape: [out, width] })
    const pull = graph.input('pull', { dtype: 'F32', shape: [rows, out] })
    const loss = b.sum(b.mul(b.matmul(x, weight, { transB: true, alpha: 2 }), pull), [0, 1], 0)
    const [gradient] = gradients(graph, loss, [weight])
    graph.output('gradient', gradient)
    const random = seededRandom(out)
    const feeds = {
      x: spread(random, rows * width, 1),
      weight: spread(random, out * width, 1),
      pull: spread(random, rows * out, 1),
    }
    const { gradient: found } = await (await runnable(graph))(feeds)
    for (let i = 0; i < out; i++) {
      for (let j = 0; j < width; j++) {
        let want = 0
        for (let r = 0; r < rows; r++) want += 2 * feeds.pull[r * out + i] * feeds.x[r * width + j]
        assert.ok(Math.abs(Number(found[i * width + j]) - want) < 1e-5, `${i}, ${j}`)
      }
    }
  })
}
