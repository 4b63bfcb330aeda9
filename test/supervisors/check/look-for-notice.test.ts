import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isFailure } from '../../../src/failure.ts'
import { lookForNotice } from '../../../supervisors/check/look-for-notice.ts'
import { scratch } from '../../support/target-run.ts'

const usual = { everySeconds: 5, noticeSeconds: 120 }

test('check: a notice that lies there already would stop a run, and is told', async (t) => {
  const file = join(await scratch(t), 'notice')
  const looks = () => lookForNotice({ ...usual, file })
  assert.deepEqual(await looks(), [`looked for in ${file} every 5 s`, null])
  writeFileSync(file, 'FALSE')
  assert.deepEqual(await looks(), [`looked for in ${file} every 5 s`, null])
  writeFileSync(file, '')
  await assert.rejects(looks, (error) => {
    assert.ok(isFailure(error, 'invalid'))
    assert.match(error.message, new RegExp(`stops at once. file=${file}$`))
    assert.equal(error.remedy, 'Remove the file if it is old.')
    return true
  })
})

test('check: of a metadata service it is told that it is asked', async () => {
  const url = 'http://169.254.169.254/action'
  const found = await lookForNotice({ ...usual, url })
  assert.deepEqual(found, [`looked for at ${url} every 5 s`, null])
})
