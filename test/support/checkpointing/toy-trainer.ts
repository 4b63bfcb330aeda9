import { createHash } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { transfer } from '../../../protocol/channel.ts'
import { checkpointerContract } from '../../../protocol/checkpointer.ts'
import { actor } from '../../../protocol/lifecycle.ts'
import type { Capture } from '../../../protocol/trainer.ts'
import { type TrainedTensor, tensorBuffers } from '../../../src/checkpoint/tensors.ts'
import { seededRandom } from '../../../src/clock.ts'
import { type ToyInput, type ToyStep, toyContract } from './toy-contract.ts'

/** AdamW on a parabola, with a schedule, noise by chance, and a cursor. */

const totalSteps = 200
const [beta1, beta2] = [0.9, 0.999]

const self = actor<ToyInput>()
const { training, size, notes } = self.input
const shapes = [
  { name: 'large', shape: [size / 2, 2] },
  { name: 'small', shape: [4] },
]
const config = { drafter: { size }, target: { fingerprint: 'toy' } }

const checkpointer = self.peer('checkpointer', checkpointerContract)
const restored = await checkpointer.again((ask) =>
  ask.restore({ training, checkpoint: null, expected: { tensors: shapes, ...config } }),
)
const restoredAt = restored?.state.progress.step ?? 0
const draining = new AbortController()
let step = restoredAt
let cursor = cursorIn(restored?.state.progress.data)
const tensors: readonly TrainedTensor[] = restored?.state.tensors ?? shapes.map(initial)

function initial({ name, shape }: { name: string; shape: number[] }): TrainedTensor {
  const length = shape.reduce((product, width) => product * width, 1)
  const random = seededRandom(length)
  const zeros = () => new Float32Array(length)
  return { name, shape, value: zeros().map(() => random() - 0.5), m: zeros(), v: zeros() }
}

/** What must be kept, for nobody could compute it of the step. */
function cursorIn(data: unknown): number {
  if (typeof data !== 'object' || data === null || !('cursor' in data)) return 1
  return Number(data.cursor)
}

function trainOne(): ToyStep {
  const lr = 0.05 * Math.cos((Math.PI * step) / (2 * totalSteps))
  const random = seededRandom(cursor)
  cursor = (cursor * 48_271) % 2_147_483_647
  step++
  const [bias1, bias2] = [1 - beta1 ** step, 1 - beta2 ** step]
  let loss = 0
  for (const { value, m, v } of tensors) {
    const noise = random() - 0.5
    for (let i = 0; i < value.length; i++) {
      const gradient = value[i] - noise
      loss += gradient * gradient
      m[i] = beta1 * m[i] + (1 - beta1) * gradient
      v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient
      value[i] -= (lr * (m[i] / bias1)) / (Math.sqrt(v[i] / bias2) + 1e-8)
    }
  }
  return { step, lr, loss }
}

const copied = (tensor: TrainedTensor): TrainedTensor => {
  const { value, m, v } = tensor
  return { ...tensor, value: value.slice(), m: m.slice(), v: v.slice() }
}

function sha256(): string {
  const hash = createHash('sha256')
  for (const { value, m, v } of tensors) for (const array of [value, m, v]) hash.update(array)
  return hash.digest('hex')
}

self.serve(toyContract, () => ({
  trainTo: async (last) => {
    while (step < last && !draining.signal.aborted) {
      appendFileSync(notes, `${JSON.stringify(trainOne())}\n`)
      await turn()
    }
  },
  standing: () => ({ step, restoredAt, sha256: sha256() }),
  state: ({ saved }): Capture => {
    if (saved?.training === training && saved.step === step) return { kind: 'saved' }
    const copies = tensors.map(copied)
    const progress = {
      ...{ training, step, samples: step * 4, tokens: step * 40, heldOutLoss: null, tau: null },
      ...config,
      schedule: { totalSteps },
      data: { cursor },
      random: null,
    }
    return transfer({ kind: 'state', state: { progress, tensors: copies } }, tensorBuffers(copies))
  },
}))

self.live({ drain: async () => draining.abort(), status: () => ({ work: `step ${step}` }) })
