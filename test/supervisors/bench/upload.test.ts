/** The benchmark of uploads at a tiny size: each side stores all; the time is not looked at. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { reportText } from '../../../supervisors/bench/report.ts'
import { benchUpload } from '../../../supervisors/bench/upload.ts'
import { scratch } from '../../support/target-run.ts'

test('bench upload: each side stores each file, through TLS', async (t) => {
  const folder = await scratch(t)
  const notes: string[] = []
  const sizes = { files: 12, repeats: 1, tls: true }
  const report = await benchUpload(folder, sizes, (text) => notes.push(text))
  for (const { name, values } of report.figures) {
    assert.equal(values.length, 1, name)
    assert.ok(
      values.every((value) => Number.isFinite(value) && value > 0),
      name,
    )
  }
  const names = report.figures.map(({ name }) => name)
  for (const side of ['draftsmith', 'AWS SDK, tuned', 'bare sockets', 'draftsmith, sink']) {
    assert.ok(names.includes(side), side)
  }
  assert.equal(report.sizes.bytes, 12 * 1_100_000)
  assert.match(reportText(report), /TLS/)
  assert.ok(notes.some((note) => /bare sockets, CRC-32, sink/.test(note)))
  // What servers and sides have stored is gone; what was dear to make stays.
  assert.ok(!readdirSync(folder).includes('work'))
})
