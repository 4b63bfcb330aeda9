import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statusText } from '../../../actors/console/text.ts'
import { topText } from '../../../actors/console/top-text.ts'
import { treeText } from '../../../actors/console/tree-text.ts'
import { actorStatus, loaderStatus, runStatus, trainingStatus } from '../../support/statuses.ts'

const restarts = { restarts: 12, lastCause: 'crash: the store answered a request with garbage' }
const status = runStatus({
  training: trainingStatus({ loader: loaderStatus }),
  actors: actorStatus('root', {
    children: [
      actorStatus('storage', {
        children: [
          actorStatus('ledger', { work: 'serving' }),
          actorStatus('uploads', {
            children: [actorStatus('uploader/0', { work: '30 of 95 lanes', ...restarts })],
          }),
        ],
      }),
      actorStatus('extraction', {
        children: [
          actorStatus('reader', { work: '2 batches given out, 2 ready' }),
          actorStatus('extractor/0', { pid: 4711, busy: { work: 'b4: 10 rows', deadlineMs: 1 } }),
        ],
      }),
      actorStatus('training', {
        children: [
          actorStatus('loader'),
          actorStatus('trainer/0'),
          actorStatus('checkpointer', { work: 'idle' }),
        ],
      }),
    ],
  }),
})

test('tree: each actor has state, since when, restarts, last cause, queues, work', () => {
  const text = treeText(status, 120)
  for (const line of [
    /^ {4}ledger +running +1:02:03 +95 to send +30 sending, 20 to commit +serving$/m,
    /^ {6}uploader\/0 +running +1:02:03 +12 +95 to send +30 of 95 lanes$/m,
    /^ {8}last: crash: the store answered/m,
    /^ {4}reader .* 400 rows +2 batches given out +2 batches given out, 2 ready$/m,
    /^ {4}extractor\/0 .* 500 rows +125 files in spool +pid 4711, b4: 10 rows$/m,
    /^ {4}loader .* 360 samples +4 batches ahead, 8\.4 MB$/m,
    /^ {4}trainer\/0 .* 4 batches +step 50 of 200$/m,
    /^ {4}checkpointer .* 10 steps unsaved +step 40 saved +idle$/m,
  ]) {
    assert.match(text, line)
  }
})

test('tree, status and top: no line is longer than the terminal is wide', () => {
  for (const columns of [80, 120]) {
    for (const draw of [treeText, statusText, topText]) {
      const lines = draw(status, columns).split('\n')
      const long = lines.filter((line) => line.length > columns)
      assert.deepEqual(long, [], `columns=${columns}`)
    }
  }
  assert.match(treeText(status, 80), /^ {8}at: pid 4711, b4: 10 rows$/m)
})

test('tree: before there is one, it says so', () => {
  assert.equal(treeText(runStatus(), 80), 'No actor has been started yet.')
})
