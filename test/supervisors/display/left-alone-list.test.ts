import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { leftAloneFile, readLeftAlone } from '../../../supervisors/display/left-alone-list.ts'
import { scratch } from '../../support/target-run.ts'

test('left alone: of a list that was cut every whole line is read', async (t) => {
  const list = leftAloneFile(await scratch(t))
  mkdirSync(dirname(list), { recursive: true })
  const left = { file: 'a.safetensors', reason: 'it cannot be read', facts: 'code=EIO' }
  const line = JSON.stringify(left)
  // The disk was full for a while: the next line begins where the one before was cut.
  writeFileSync(list, `${line}\n${line.slice(0, 30)}${line}\n${line}\n${line.slice(0, 9)}`)
  assert.deepEqual(readLeftAlone(list), [left, left])
})

test('left alone: a list that was never written has no lines', async (t) => {
  assert.deepEqual(readLeftAlone(leftAloneFile(await scratch(t))), [])
})
