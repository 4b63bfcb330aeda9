import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFeed } from '../../../actors/loader/open.ts'
import { openLog } from '../../../src/log.ts'
import { feedRig } from '../../support/feed.ts'

test('loader: rows that have no anchor are warned of, and what an anchor takes', async (t) => {
  const anchored = { ids: [1, 2, 3], mask: [0, 1, 1] }
  const single = { ids: [4, 5, 6], mask: [0, 1, 0] }
  const warnings = []
  for (const rows of [[anchored, single], [anchored]]) {
    const { input, store, work } = await feedRig(t, rows)
    const file = join(work, 'log')
    const log = openLog({ actor: 'loader', level: 'warn', file, stderr: 'none' })
    await openFeed(input, { store, log, onRows: () => undefined })
    warnings.push(readFileSync(file, 'utf8'))
  }
  const [some, none] = warnings
  const { level, msg, rows, anchorRule, blockSize } = JSON.parse(some)
  assert.deepEqual(
    { level, rows, anchorRule, blockSize },
    {
      level: 'warn',
      rows: 1,
      anchorRule: 'next-supervised',
      blockSize: 4,
    },
  )
  assert.match(msg, /without an anchor/)
  assert.equal(none, '')
})
