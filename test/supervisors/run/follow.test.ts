import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { followLog } from '../../../supervisors/run/follow.ts'
import { LogTail } from '../../../supervisors/run/log-tail.ts'
import { scratch } from '../../support/target-run.ts'

const line = (actor: string, n: number, child?: string) => JSON.stringify({ actor, n, child })

test('follow: an actor’s last twenty lines, those of it, and then what is written', async (t) => {
  const file = join(await scratch(t), 'log.jsonl')
  const before = Array.from({ length: 50 }, (_, n) => line(n % 2 ? 'ledger' : 'reader', n))
  writeFileSync(file, `${before.join('\n')}\nno JSON\n`)
  const told: string[] = []
  const enough = new AbortController()
  const following = followLog(file, 'ledger', {
    told: (text) => {
      told.push(text)
      if (told.length === 22) enough.abort()
    },
    signal: enough.signal,
  })
  appendFileSync(file, `${line('reader', 50)}\n${line('supervisor', 51, 'ledger')}\n`)
  appendFileSync(file, `${line('ledger', 52)}\n`)
  await following
  const numbers = told.map((text) => JSON.parse(text).n)
  assert.deepEqual(numbers, [...Array.from({ length: 20 }, (_, i) => 11 + 2 * i), 51, 52])
})

test('log tail: whole lines only, each once, and from the end where that is wanted', async (t) => {
  const file = join(await scratch(t), 'log')
  writeFileSync(file, 'one\ntwo\nthr')
  const [all, last] = [new LogTail(file), new LogTail(file, 5)]
  assert.deepEqual([all.read(), last.read()], [['one', 'two'], []])
  appendFileSync(file, 'ee\n')
  assert.deepEqual([all.read(), last.read(), all.read()], [['three'], ['three'], []])
  all.close()
  last.close()
})
