import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { boundedAttention } from '../../../src/autodiff/bounded-attention.ts'
import { recomputed } from '../../../src/autodiff/recomputed.ts'
import { Builder } from '../../../src/graph/builder.ts'
import { Graph } from '../../../src/graph/graph.ts'
import { projectRoot } from '../../support/golden.ts'
import { drafterConfig } from '../../support/training/cases.ts'

const says = (words: RegExp) => (error: unknown) =>
  error instanceof Error && words.test(error.message)

test('graph: a node that does not fit names the line of the model that wanted it', () => {
  const graph = new Graph()
  const x = graph.input('x', { dtype: 'F32', shape: [2, 3] })
  const ofTheModel = () => new Builder(graph, 'layers.0').matmul(x, x)
  assert.throws(ofTheModel, says(/at=ofTheModel \(src\/graph\/caller\.test\.ts:\d+:\d+\)/))
})

test('graph: so does one deep in a composite, in a region', () => {
  const graph = new Graph()
  const input = (name: string, shape: number[]) => graph.input(name, { dtype: 'F32', shape })
  const query = input('query', [1, 1, 4, 2, 8])
  const contextKey = input('context key', [1, 1, 5, 8])
  const contextValue = input('context value', [1, 1, 5, 7])
  const [key, value] = [input('key', [1, 1, 4, 2, 8]), input('value', [1, 1, 4, 2, 8])]
  const mask = input('mask', [1, 1, 4, 2, 5])
  const attention = () =>
    boundedAttention(graph, 'attention', [query, contextKey, contextValue, key, value, mask], {
      scale: 1,
      blocksAtOnce: 2,
    })
  assert.throws(
    () => recomputed(graph, { name: 'layer', inputs: [query] }, () => attention()),
    says(/at=attention \(src\/graph\/caller\.test\.ts:\d+:\d+\)/),
  )
})

test('graph: in the program, which is bundled, it is the line of the source', async () => {
  const { href } = pathToFileURL(join(projectRoot, 'dist', 'src', 'index.js'))
  const library: typeof import('../../../src/index.ts') = await import(href)
  const config = { ...drafterConfig('drafter_b8'), headDim: 7 }
  const build = () =>
    library.lossGraph(config, {
      shape: { rows: 1, tokens: 16, blocks: 2 },
      dtype: 'f32',
      tiedEmbeddings: true,
      frozen: 'inputs',
      chunkBytes: 2 ** 20,
      recompute: false,
      learns: true,
      distillation: null,
    })
  assert.throws(build, says(/at=turned \(src\/models\/dflash\.ts:\d+:\d+\)/))
})
