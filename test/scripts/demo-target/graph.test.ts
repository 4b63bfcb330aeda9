import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causalGraph } from '../../../scripts/demo-target/graph.ts'
import { seededRandom } from '../../../src/clock.ts'
import { parseTargetConfig } from '../../../src/models/config.ts'
import { spread } from '../../../src/models/spread.ts'
import { type Numbers, runnable } from '../../support/run-graph.ts'

const config = parseTargetConfig(
  {
    architectures: ['Qwen3ForCausalLM'],
    num_hidden_layers: 2,
    hidden_size: 24,
    intermediate_size: 40,
    vocab_size: 30,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 16,
    tie_word_embeddings: true,
  },
  'config.json',
)
const shape = { rows: 2, tokens: 6 }
const count = shape.rows * shape.tokens

/** Parameters by chance, and feeds that they belong to. */
async function made() {
  const { graph, parameters } = causalGraph(config, shape, { trains: true })
  const random = seededRandom(3)
  const ids = (): BigInt64Array =>
    BigInt64Array.from({ length: count }, () => BigInt(Math.floor(random() * config.vocabSize)))
  const feeds: Record<string, Numbers> = {
    input_ids: ids(),
    labels: ids(),
    weights: new Float32Array(count).fill(1 / count),
  }
  for (const { name, shape } of parameters) {
    const size = shape.reduce<number>((all, dim) => all * Number(dim), 1)
    feeds[name] = spread(random, size, 0.3)
  }
  return { run: await runnable(graph), names: parameters.map(({ name }) => name), feeds }
}

test('causal graph: a step against the gradients lowers the loss by what they say', async () => {
  const { run, names, feeds } = await made()
  const found = await run(feeds)
  const lossAt = async (moved: number) => {
    const there = names.map((name) => {
      const gradient = found[`grad:${name}`]
      const values = Float32Array.from(feeds[name] ?? [], Number)
      return [name, values.map((value, i) => value + moved * Number(gradient[i]))] as const
    })
    const { loss } = await run({ ...feeds, ...Object.fromEntries(there) })
    return Number(loss[0])
  }
  const squares = names.map((name) =>
    Array.from(found[`grad:${name}`], Number).reduce((sum, g) => sum + g * g, 0),
  )
  assert.ok(squares.every((square) => square > 0))
  const want = squares.reduce((a, b) => a + b, 0)
  const step = 0.02 / Math.sqrt(want)
  const slope = ((await lossAt(step)) - (await lossAt(-step))) / (2 * step)
  assert.ok(Math.abs(slope - want) < 0.01 * want, `want=${want}, found=${slope}`)
})

test('causal graph: no token is told of what comes after it', async () => {
  const { run, feeds } = await made()
  const { cross_entropy: before } = await run(feeds)
  const changed = BigInt64Array.from(feeds.input_ids ?? [], BigInt)
  // The last token of the first row, and all of the second.
  for (let i = shape.tokens - 1; i < count; i++) changed[i] = (changed[i] + 1n) % 30n
  const { cross_entropy: after } = await run({ ...feeds, input_ids: changed })
  assert.deepEqual(after.slice(0, shape.tokens - 1), before.slice(0, shape.tokens - 1))
  assert.notEqual(after[shape.tokens - 1], before[shape.tokens - 1])
})
