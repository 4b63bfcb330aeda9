/** A gradient against finite differences of the same graph's own loss. */
import assert from 'node:assert/strict'
import { gradients } from '../../src/autodiff/backward.ts'
import { seededRandom } from '../../src/clock.ts'
import { Builder } from '../../src/graph/builder.ts'
import { Graph } from '../../src/graph/graph.ts'
import type { Value } from '../../src/graph/ops.ts'
import { type Numbers, runnable } from './run-graph.ts'

interface Checked {
  /** Of the float32 inputs. */
  readonly shapes: readonly (readonly number[])[]
  readonly build: (b: Builder, inputs: readonly Value[]) => Value
  /** Inputs are drawn from here; [-1, 1] by default. */
  readonly range?: readonly [from: number, to: number]
  /** Inputs that have no gradient, by place. */
  readonly fixed?: readonly number[]
  readonly seed?: number
}

const step = 1 / 64

/**
 * loss = Σ c ⊙ y with drawn c, so that each element of y counts by itself; each element of each
 * input is moved by ± h and ± 2h, and Richardson's formula leaves an error of h⁴.
 */
export async function checkGradient({
  shapes,
  build,
  range: [from, to] = [-1, 1],
  fixed = [],
  seed = 7,
}: Checked): Promise<void> {
  const random = seededRandom(seed)
  const draw = (shape: readonly number[]) =>
    Float32Array.from({ length: size(shape) }, () => from + (to - from) * random())
  const graph = new Graph()
  const inputs = shapes.map((shape, i) => graph.input(`x${i}`, { dtype: 'F32', shape }))
  const b = new Builder(graph, 'checked')
  const y = build(b, inputs)
  const shape = y.shape.map(Number)
  const c = Float32Array.from({ length: size(shape) }, () => 2 * random() - 1)
  const weighted = b.mul(b.reshape(y, [c.length]), graph.floats('c', [c.length], c))
  const loss = b.sum(weighted, [0], 0)
  const wrt = inputs.filter((_, i) => !fixed.includes(i))
  graph.output('loss', loss)
  gradients(graph, loss, wrt).forEach((gradient, i) => {
    assert.deepEqual(gradient.shape, wrt[i].shape, `shape of the gradient of ${wrt[i].name}`)
    graph.output(`grad:${wrt[i].name}`, gradient)
  })
  const run = await runnable(graph)
  const feeds = Object.fromEntries(inputs.map(({ name }, i) => [name, draw(shapes[i])]))
  const found = await run(feeds)
  for (const { name } of wrt) {
    await compare(found[`grad:${name}`], { name, feeds, run })
  }
}

async function compare(
  found: Numbers,
  at: {
    readonly name: string
    readonly feeds: Readonly<Record<string, Float32Array>>
    readonly run: (feeds: Readonly<Record<string, Numbers>>) => Promise<Record<string, Numbers>>
  },
): Promise<void> {
  const own = at.feeds[at.name]
  const lossAt = async (i: number, moved: number) => {
    const there = own.slice()
    there[i] += moved
    const { loss } = await at.run({ ...at.feeds, [at.name]: there })
    return Number(loss[0])
  }
  for (let i = 0; i < own.length; i++) {
    const near = (await lossAt(i, step)) - (await lossAt(i, -step))
    const far = (await lossAt(i, 2 * step)) - (await lossAt(i, -2 * step))
    const want = (8 * near - far) / (12 * step)
    const got = Number(found[i])
    const off = Math.abs(got - want)
    assert.ok(off <= 2e-3 * (1 + Math.abs(want)), `${at.name}[${i}]: want ${want}, found ${got}`)
  }
}

const size = (shape: readonly number[]): number => shape.reduce((all, dim) => all * dim, 1)
