import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deferred } from '../../../protocol/deferred.ts'
import { aborted } from '../../../src/aborted.ts'
import { Failure } from '../../../src/failure.ts'
import { Answering, type Asker, type Place } from '../../../supervisors/display/answering.ts'

const unasked = () => assert.fail('nobody expected this to be asked')

/** A terminal of which only what was said is looked at, and a key that is pressed at once. */
function open(run: Asker['run']) {
  const said: string[] = []
  const place: Place = {
    columns: 80,
    say: (text) => said.push(text),
    write: (text) => said.push(text.trimEnd()),
    picture: unasked,
    follows: () => undefined,
    takeKeys: (pressed) => {
      setImmediate(() => pressed(' '))
      return () => undefined
    },
  }
  const answering = new Answering({ status: unasked, completions: unasked, run }, place)
  return { answering, said }
}

test('answering: below another line than its own, an answer names its own', async () => {
  const saved = deferred<string>()
  const { answering, said } = open(async (line, { say }) => {
    if (line.trim() === 'checkpoint') return await saved.promise
    if (line === 'drain') say('Nothing new is begun.')
    if (line !== 'drain') return `answer to ${line}`
    await saved.promise
    throw new Failure('invalid', 'nothing to drain', { remedy: 'Look\nthere.' })
  })
  const first = answering.answer(' checkpoint ')
  await answering.answer('status')
  const drained = answering.answer('drain')
  await answering.answer('tree')
  await answering.answer('  ')
  saved.resolve('Saved.')
  await Promise.all([first, drained])
  assert.deepEqual(said, [
    'answer to status',
    'Nothing new is begun.',
    'answer to tree',
    'checkpoint: Saved.',
    'drain:\nnothing to drain. Look\nthere.',
  ])
})

test('answering: what ends a log is said once it is followed, of no other', async () => {
  const { answering, said } = open(async (line, { follows, log, signal }) => {
    if (line !== 'log reader') throw new Failure('invalid', 'which actor?')
    follows()
    log('its line')
    await aborted(signal)
    return ''
  })
  await answering.answer('log')
  await answering.answer('log reader')
  assert.deepEqual(said, ['which actor?.', 'Any key ends it.', 'its line'])
})
