import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { FlatTensors } from '../../../src/optim/flat.ts'

const shapes = [
  { name: 'a', shape: [3, 5] },
  { name: 'b', shape: [16] },
  { name: 'c', shape: [17] },
]

const invalid = (want: RegExp) => (error: unknown) =>
  isFailure(error, 'invalid') && want.test(error.message)

test('flat: a tensor has its own elements in every region, on a cache line of its own', () => {
  const flat = new FlatTensors(shapes)
  let written = 0
  for (const { view } of flat.places) {
    for (const region of ['parameters', 'gradients', 'addends'] as const)
      view(region).fill(++written)
  }
  written = 0
  for (const { name, view, padded } of flat.places) {
    for (const region of ['parameters', 'gradients', 'addends'] as const) {
      assert.equal(flat.view(region, name), view(region))
      assert.ok(view(region).every((value) => value === written + 1))
      assert.equal(view(region).byteOffset % 64, 0)
      written++
    }
    assert.ok(view('secondMoments').every((value) => value === 0))
    assert.equal(padded % 16, 0)
    assert.ok(padded >= view('gradients').length)
  }
  assert.deepEqual(
    flat.places.map(({ view }) => view('parameters').length),
    [15, 16, 17],
  )
})

test('flat: tensors that pass one memory are in several, each of them whole', () => {
  const memoryOf = (bytesMax: number) => {
    const { places } = new FlatTensors(shapes, bytesMax)
    const buffers = [...new Set(places.map(({ view }) => view('parameters').buffer))]
    return places.map(({ view }) => buffers.indexOf(view('secondMoments').buffer))
  }
  const floats = 5 * 4
  assert.deepEqual(memoryOf(64 * floats), [0, 0, 0])
  assert.deepEqual(memoryOf(63 * floats), [0, 0, 1])
  assert.deepEqual(memoryOf(32 * floats), [0, 0, 1])
  assert.throws(() => memoryOf(31 * floats), invalid(/tensor=c, want=31 elements.*found=17/))
})

test('flat: tensors in the last bytes below 4 GiB are added, summed and applied', () => {
  // Only the pages that are written take memory.
  const flat = new FlatTensors([
    { name: 'all but the end', shape: [214_744_448] },
    { name: 'end', shape: [640] },
  ])
  const end = flat.places[1]
  assert.ok(end.address('secondMoments') > 2 ** 32 - 70_000)
  end.view('gradients').fill(2)
  end.view('addends').fill(1)
  end.kernels.add(end.address('gradients'), end.address('addends'), end.padded)
  assert.equal(end.kernels.sumOfSquares(end.address('gradients'), end.padded), 640 * 9)
  end.view('secondMoments').fill(3)
  assert.equal(end.kernels.sumOfSquares(end.address('secondMoments'), end.padded), 640 * 9)
})

test('flat: a region is filled whole or not at all', () => {
  const flat = new FlatTensors(shapes)
  const given = () => new Map(shapes.map(({ name }, i) => [name, new Float32Array(15 + i).fill(1)]))
  flat.fill('parameters', given())
  assert.deepEqual(flat.view('parameters', 'c'), new Float32Array(17).fill(1))
  const bad = given().set('a', new Float32Array(15).fill(2)).set('d', new Float32Array(1))
  bad.delete('b')
  bad.set('c', new Float32Array(16))
  assert.throws(
    () => flat.fill('parameters', bad),
    invalid(/region=parameters, problems=missing b; c of 16 for 17; extra d/),
  )
  assert.throws(
    () => flat.fill('parameters', given().set('b', new Float32Array(16).fill(Number.NaN))),
    invalid(/b not finite/),
  )
  assert.deepEqual(flat.view('parameters', 'a'), new Float32Array(15).fill(1))
})

test('flat: names that are there twice or not at all are refused', () => {
  assert.throws(() => new FlatTensors([...shapes, shapes[1]]), invalid(/one name. name=b/))
  assert.throws(() => new FlatTensors(shapes).view('parameters', 'd'), invalid(/name=d/))
  assert.deepEqual(new FlatTensors([]).places, [])
})
