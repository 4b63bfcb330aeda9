import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statusText } from '../../actors/console/text.ts'
import { decodeAnswer, encodeAnswer } from '../../protocol/console-lines.ts'
import { runStatus, trainingStatus } from '../support/statuses.ts'

test('answers: what a skipped step came to is no number, there and here (B50)', () => {
  const { trainer, ...training } = trainingStatus()
  const last = trainer.last && {
    ...trainer.last,
    ...{
      loss: Number.NaN,
      gradientNorm: Number.POSITIVE_INFINITY,
      accuracyBySlot: [0.5, Number.NaN],
    },
  }
  const status = runStatus({ training: { ...training, trainer: { ...trainer, last } } })
  const told = decodeAnswer(encodeAnswer({ kind: 'status', status }))
  assert.deepEqual(told, { kind: 'status', status })
  assert.ok(told.kind === 'status')
  assert.match(statusText(told.status, 200), /loss NaN.*gradient Infinity/)
})
