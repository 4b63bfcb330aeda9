import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { PreemptionWatch } from '../../../supervisors/run/preemption.ts'
import { timeLeft, timeLeftByFile } from '../../../supervisors/run/preemption-notice.ts'
import { scratch } from '../../support/target-run.ts'

const now = Date.parse('2026-01-01T00:00:00Z')
const moment = { now, usualMs: 30_000, machine: null }

test('notice: Amazon tells the time; Google and Azure whether there is one', () => {
  const cases: readonly [string, number | null | 'unclear'][] = [
    ['{"action": "terminate", "time": "2026-01-01T00:02:00Z"}', 120_000],
    ['2026-01-01T00:01:30Z', 90_000],
    ['TRUE', 30_000],
    ['FALSE', null],
    ['NONE\n', null],
    ['MIGRATE_ON_HOST_MAINTENANCE', null],
    ['TERMINATE_ON_HOST_MAINTENANCE', 30_000],
    ['{"DocumentIncarnation": 1, "Events": []}', null],
    ['{"Events": [{"EventType": "Reboot", "NotBefore": ""}]}', null],
    [
      '{"Events": [{"EventType": "Preempt", "NotBefore": "Thu, 01 Jan 2026 00:00:40 GMT"}]}',
      40_000,
    ],
    ['{"Events": [{"EventType": "Preempt", "NotBefore": ""}]}', 30_000],
    // A clock that is wrong, or a notice of another life.
    ['{"action": "stop", "time": "2025-01-01T00:00:00Z"}', 30_000],
    ['{"action": "hibernate", "time": "2027-01-01T00:00:00Z"}', 30_000],
  ]
  for (const [text, left] of cases) assert.equal(timeLeft(text, moment), left, text)
})

test('notice: what answers in a cloud’s place is none; a file is one by being there', () => {
  const others = [
    '',
    '<!doctype html><title>Sign in</title>',
    'Error 1: not found',
    'no time yet',
    '{"error": "no route", "time": "2026-01-01T00:02:00Z"}',
    '{"noticeTime": "2026-01-01T00:02:00Z"}',
    '[]',
  ]
  for (const text of others) {
    assert.equal(timeLeft(text, moment), 'unclear', text)
    assert.equal(timeLeftByFile(text, moment), 30_000, text)
  }
  assert.equal(timeLeftByFile('2026-01-01T00:01:30Z\n', moment), 90_000)
  assert.equal(timeLeftByFile('FALSE', moment), null)
})

test('notice: of Azure’s events those of this machine, or of nobody by name, are its own', () => {
  const preempt = (of: readonly string[]) =>
    JSON.stringify({ Events: [{ EventType: 'Preempt', NotBefore: '', Resources: of }] })
  const cases: readonly [string | null, readonly string[], number | null][] = [
    ['set_1', ['set_0'], null],
    ['set_1', ['set_0', 'set_1'], 30_000],
    ['set_1', [], 30_000],
    [null, ['set_0'], 30_000],
  ]
  for (const [machine, of, left] of cases) {
    assert.equal(timeLeft(preempt(of), { ...moment, machine }), left, `${machine} among ${of}`)
  }
})

const usual = { everySeconds: 0.02, noticeSeconds: 45 }

/** Watches until a notice comes; what it said to the log stands beside it. */
async function watch(t: TestContext, from: { file: string } | { url: string }) {
  const said: string[] = []
  const log = {
    info: (...words: unknown[]) => void said.push(String(words.at(-1))),
    warn: (...words: unknown[]) => void said.push(String(words.at(-1))),
  }
  let left: number | undefined
  const watching = new PreemptionWatch(
    { ...usual, ...from },
    {
      log,
      noticed: (leftMs) => {
        left = leftMs
      },
    },
  )
  t.after(() => watching.close())
  return { watching, said, left: () => left }
}

async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('watch: a file that appears is a notice; trouble is told of once', async (t) => {
  const file = join(await scratch(t), 'notice')
  mkdirSync(file)
  const { watching, said, left } = await watch(t, { file })
  while (said.length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  rmSync(file, { recursive: true })
  while (said.length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
  writeFileSync(file, '')
  await watching.ended
  assert.equal(left(), 45_000)
  assert.match(said.join('\n'), /^the spot notice cannot .*\n.*again\nthis machine is taken away/)
  assert.equal(said.length, 3)
})

test('watch: Amazon’s service is asked with a token, renewed when refused', async (t) => {
  const told: string[] = []
  let token = 0
  let asked = 0
  const url = await serve(t, (request, response) => {
    const given = request.headers['x-aws-ec2-metadata-token']
    told.push(`${request.method} ${request.url} ${given ?? ''}`)
    if (request.method === 'PUT') {
      assert.equal(request.headers['x-aws-ec2-metadata-token-ttl-seconds'], '21600')
      response.end(`token-${++token}`)
    } else if (given !== `token-${token}`) {
      response.writeHead(401).end()
    } else if (++asked < 3) {
      // The first token is good for one question only.
      if (asked === 1) token++
      response.writeHead(404).end()
    } else {
      response.end('{"action": "stop", "time": "2000-01-01T00:00:00Z"}')
    }
  })
  const path = '/latest/meta-data/spot/instance-action'
  const { watching, said, left } = await watch(t, { url: `${url}${path}` })
  await watching.ended
  assert.equal(left(), 45_000)
  assert.deepEqual(said, ['this machine is taken away: what is under way is saved'])
  assert.deepEqual(told.slice(0, 6), [
    `GET ${path} `,
    'PUT /latest/api/token ',
    `GET ${path} token-1`,
    `GET ${path} token-1`,
    'PUT /latest/api/token ',
    `GET ${path} token-3`,
  ])
})

test('watch: Google’s FALSE is none; what is broken is told of, and asked again', async (t) => {
  const answers = ['FALSE', 500, '<html>Sign in</html>', 'FALSE', 'TRUE']
  const url = await serve(t, (request, response) => {
    assert.equal(request.headers['metadata-flavor'], 'Google')
    const answer = answers.shift()
    if (typeof answer === 'number') response.writeHead(answer).end()
    else response.end(answer)
  })
  const { watching, said, left } = await watch(t, { url })
  await watching.ended
  assert.equal(left(), 45_000)
  assert.equal(said.length, 3)
})

test('watch: another machine’s end in Azure’s events is none of this one’s', async (t) => {
  const asked: string[] = []
  const events = (of: string) =>
    JSON.stringify({ Events: [{ EventType: 'Preempt', NotBefore: '', Resources: [of] }] })
  const answers = [events('set_0'), events('set_0'), events('set_1')]
  const url = await serve(t, (request, response) => {
    assert.equal(request.headers.metadata, 'true')
    asked.push(request.url ?? '')
    response.end(request.url?.startsWith('/metadata/instance/') ? 'set_1' : answers.shift())
  })
  const { watching, left } = await watch(t, { url: `${url}/metadata/scheduledevents` })
  await watching.ended
  assert.equal(left(), 45_000)
  assert.deepEqual(answers, [])
  assert.equal(asked[1], '/metadata/instance/compute/name?api-version=2019-03-11&format=text')
})
