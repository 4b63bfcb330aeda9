import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { seededRandom } from '../../../src/clock.ts'
import { isFailure } from '../../../src/failure.ts'
import { Graph } from '../../../src/graph/graph.ts'
import { prepareModel } from '../../../src/session/prepare.ts'
import { providerOf } from '../../../src/session/provider.ts'
import { openSession } from '../../../src/session/session.ts'
import { float32ToBfloat16 } from '../../../src/tensor/bfloat16.ts'
import { float32ToFloat16 } from '../../../src/tensor/float16.ts'
import { scratch } from '../../support/target-run.ts'

const floatsOf = (bits: readonly number[]) => new Float32Array(Uint32Array.from(bits).buffer)

/** What rounding goes wrong on, and plain numbers of every size. */
function hardFloats(): Float32Array {
  const special = [
    0x0000_0000, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f80_0001, 0xff80_0001,
    0x7fff_ffff, 0x0000_0001, 0x807f_ffff, 0x0000_8000, 0x0001_8000, 0x7f7f_ffff, 0x7f7f_8000,
    0x7f7f_7fff, 0x3f80_8000, 0x3f81_8000, 0x3f80_8001, 0x3f80_7fff, 0x477f_efff, 0x477f_f000,
    0x3300_0000, 0x3300_0001, 0x3880_0000, 0x387f_ffff, 0x3f80_1000, 0x3f80_3000,
  ]
  const random = seededRandom(5)
  const any = Array.from({ length: 4000 }, () => Math.floor(random() * 2 ** 32))
  return floatsOf([...special, ...any])
}

async function openRounding(t: TestContext, to: 'BF16' | 'F16') {
  const graph = new Graph()
  const x = graph.input('x', { dtype: 'F32', shape: ['count'] })
  graph.output('y', graph.node('bits', 'BitCast', [graph.cast('cast', x, to)], { to: 'U16' }))
  const model = await prepareModel(graph, await scratch(t), () => {})
  const session = await openSession(model, { device: 'cpu', threads: 1 })
  t.after(() => session.release())
  return session
}

for (const [to, narrow, exponent] of [
  ['BF16', float32ToBfloat16, 0x7f80],
  ['F16', float32ToFloat16, 0x7c00],
] as const) {
  test(`session: a graph rounds to ${to} as src/tensor does, NaN included`, async (t) => {
    const session = await openRounding(t, to)
    const data = hardFloats()
    const { y } = await session.run({ x: { dtype: 'F32', shape: [data.length], data } })
    const want = narrow(data)
    for (let i = 0; i < data.length; i++) {
      const found = Number(y.data[i])
      // Of a NaN only that it is one: libraries differ in its payload.
      if (Number.isNaN(data[i])) assert.ok((found & 0x7fff) > exponent, `NaN became ${found}`)
      else assert.equal(found, want[i], `${data[i]} rounds to ${want[i]}, not to ${found}`)
    }
  })
}

test('session: results fill the memory they are given, or are refused', async (t) => {
  const graph = new Graph()
  const x = graph.input('x', { dtype: 'F32', shape: ['count'] })
  const twice = graph.node('twice', 'Add', [x, x], {})
  graph.output('y', twice)
  graph.output('z', graph.node('thrice', 'Add', [twice, x], {}))
  const model = await prepareModel(graph, await scratch(t), () => {})
  const session = await openSession(model, { device: 'cpu', threads: 1 })
  t.after(() => session.release())
  const three = (data: Float32Array) => ({ dtype: 'F32', shape: [3], data }) as const
  const given = three(Float32Array.of(1, 2, 3))
  const [y, z] = [new Float32Array(3), new Float32Array(3)]
  await session.fill({ x: given }, { y: three(y), z: three(z) })
  assert.deepEqual([...y, ...z], [2, 4, 6, 3, 6, 9])
  assert.deepEqual(Object.keys(await session.run({ x: given })), ['y', 'z'])
  const short = { dtype: 'F32', shape: [2], data: new Float32Array(2) } as const
  await assert.rejects(session.fill({ x: given }, { y: short, z: three(z) }), (error) => {
    return isFailure(error, 'invalid') && error.message.includes('y[2]')
  })
})

test('session: results are in buffers of their own, which a thread may give away', async (t) => {
  const session = await openRounding(t, 'BF16')
  const x = { dtype: 'F32', shape: [2], data: Float32Array.of(1, 2) } as const
  const [first, second] = [await session.run({ x }), await session.run({ x })]
  const { buffer } = first.y.data
  assert.ok(buffer instanceof ArrayBuffer && buffer.byteLength === 4)
  const { y } = structuredClone(first, { transfer: [buffer] })
  assert.deepEqual(Array.from(y.data, Number), [0x3f80, 0x4000])
  assert.deepEqual(Array.from(second.y.data, Number), [0x3f80, 0x4000])
})

test('session: feeds that do not fit are told with their shapes', async (t) => {
  const session = await openRounding(t, 'BF16')
  const data = new Float32Array(6)
  await assert.rejects(session.run({ x: { dtype: 'F32', shape: [2, 3], data } }), (error) => {
    assert.ok(isFailure(error, 'invalid'))
    assert.match(error.message, /feeds=x\[2,3\]/)
    assert.ok(error.cause)
    return true
  })
})

test('session: a device is known by its name or refused', () => {
  assert.deepEqual(providerOf('cpu'), { name: 'cpu' })
  assert.deepEqual(providerOf('cuda'), { name: 'cuda', deviceId: 0 })
  assert.deepEqual(providerOf('cuda:3'), { name: 'cuda', deviceId: 3 })
  for (const device of ['gpu', 'cuda:', 'cuda:x', 'CPU', '']) {
    assert.throws(
      () => providerOf(device),
      (error) => isFailure(error, 'invalid'),
    )
  }
})

test('session: a model that is none does not load, and names its file', async (t) => {
  const path = join(await scratch(t), 'model.onnx')
  await writeFile(path, 'no model')
  for (const [file, device] of [
    [path, 'cpu'],
    [`${path}.absent`, 'cpu'],
  ]) {
    await assert.rejects(openSession(file, { device, threads: 1 }), (error) => {
      assert.ok(isFailure(error, 'invalid'))
      assert.ok(error.message.includes(file))
      return true
    })
  }
})

test('session: a cuda device that cannot be had says what to install', async (t) => {
  const path = join(await scratch(t), 'model.onnx')
  await writeFile(path, 'no model')
  const opened = openSession(path, { device: 'cuda:0', threads: 1 })
  await assert.rejects(opened, (error) => {
    assert.ok(isFailure(error, 'invalid'))
    assert.match(error.message, /device=cuda:0/)
    assert.match(error.remedy ?? '', /npm run install:cuda/)
    return true
  })
})

test('session: a value may leave twice, be used further, or be an input', async (t) => {
  const graph = new Graph()
  const x = graph.input('x', { dtype: 'F32', shape: [2] })
  const double = graph.node('double', 'Add', [x, x], {})
  graph.output('twice', double)
  graph.output('again', double)
  graph.output('same', x)
  graph.output('four times', graph.node('four', 'Add', [double, double], {}))
  const model = await prepareModel(graph, await scratch(t), () => {})
  const session = await openSession(model, { device: 'cpu', threads: 1 })
  t.after(() => session.release())
  assert.deepEqual(session.outputs, ['twice', 'again', 'same', 'four times'])
  const found = await session.run({ x: { dtype: 'F32', shape: [2], data: Float32Array.of(1, 2) } })
  const want = { twice: [2, 4], again: [2, 4], same: [1, 2], 'four times': [4, 8] }
  for (const [name, numbers] of Object.entries(want)) {
    assert.deepEqual(Array.from(found[name].data, Number), numbers, name)
  }
})
