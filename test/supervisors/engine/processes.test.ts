import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PeerEnded } from '../../../protocol/channel.ts'
import type { ChildSpec, Death } from '../../../protocol/child.ts'
import { deferred } from '../../../protocol/deferred.ts'
import { sleep, systemClock } from '../../../src/clock.ts'
import { isAlive } from '../../../src/manifest/holder.ts'
import { portsFd } from '../../../supervisors/engine/host-words.ts'
import { Process } from '../../../supervisors/engine/process.ts'
import type { End } from '../../../supervisors/engine/vessel.ts'
import { askerContract } from '../../support/actors/asker-contract.ts'
import { puppetContract, type Way } from '../../support/actors/puppet-contract.ts'
import { limitMemory } from '../../support/memory-limit.ts'
import { refusals } from '../../support/refused-starts.ts'
import { asker, type Planted, plant, puppet, startOf, supervisor } from '../../support/trees.ts'

/** Actors in processes of their own: the same to their supervisor and to each other. */

// Where an abort may leave its core.
process.chdir(mkdtempSync(join(tmpdir(), 'draftsmith-processes-')))
after(() => rmSync(process.cwd(), { recursive: true }))

const isolated = { isolation: 'process' } as const

async function grown(t: TestContext, children: readonly ChildSpec[]): Promise<Planted> {
  const planted = plant(t, supervisor('root', children))
  await planted.tree.start()
  return planted
}

const deathOf = ({ events }: Planted): Death | undefined =>
  events.flatMap((event) => (event.kind === 'died' ? [event.death] : []))[0]

const ways: readonly { readonly way: Way; readonly cause: string; readonly reason: RegExp }[] = [
  { way: 'exit 0', cause: 'clean', reason: /exit code 0/ },
  { way: 'exit 3', cause: 'crash', reason: /exit code 3/ },
  { way: 'reject', cause: 'crash', reason: /a rejection that nobody handles/ },
  { way: 'bug', cause: 'crash', reason: /a bug in a handler/ },
  { way: 'abort', cause: 'crash', reason: /ended by SIGABRT/ },
]

for (const { way, cause, reason } of ways) {
  test(`a process that ends by ${way} is told as ${cause}, and alone starts again`, async (t) => {
    const planted = await grown(t, [puppet('puppet', isolated), puppet('other')])
    const client = planted.tree.client('puppet', puppetContract)
    const pid = await client.ask.pid()
    assert.notEqual(pid, process.pid)
    assert.equal(planted.tree.status().children[0]?.pid, pid)
    await client.ask.die(way).catch((error: unknown) => assert.ok(error instanceof PeerEnded))
    await planted.until(startOf('puppet', 2))

    assert.equal(deathOf(planted)?.cause, cause)
    assert.match(deathOf(planted)?.reason ?? '', reason)
    assert.equal(await client.ask.generation(), 2)
    assert.notEqual(await client.ask.pid(), pid)
    assert.deepEqual(
      planted.tree.status().children.map(({ restarts }) => restarts),
      [1, 0],
    )
  })
}

test('a process that something else kills is told as crashed, and starts again', async (t) => {
  const planted = await grown(t, [puppet('puppet', isolated)])
  process.kill(await planted.tree.client('puppet', puppetContract).ask.pid(), 'SIGKILL')
  await planted.until(startOf('puppet', 2))
  assert.equal(deathOf(planted)?.cause, 'crash')
  assert.match(deathOf(planted)?.reason ?? '', /ended by SIGKILL, as where memory runs out/)
})

test('a process that takes memory until it is killed for it harms nobody else (B41)', async (t) => {
  const planted = await grown(t, [puppet('puppet', isolated), puppet('other', isolated)])
  const client = planted.tree.client('puppet', puppetContract)
  limitMemory(t, await client.ask.pid(), 256 << 20)
  await assert.rejects(client.ask.grow(), PeerEnded)
  await planted.until(startOf('puppet', 2))
  assert.match(deathOf(planted)?.reason ?? '', /ended by SIGKILL, as where memory runs out/)
  assert.deepEqual(
    planted.tree.status().children.map(({ state, restarts }) => [state, restarts]),
    [
      ['running', 1],
      ['running', 0],
    ],
  )
})

test('a process that fails at its start tells its Failure, with remedy and cause', async (t) => {
  const input = { failingStarts: 1, startFailure: 'unavailable' } as const
  const planted = await grown(t, [puppet('puppet', { ...isolated, input })])
  const { cause, failure } = deathOf(planted) ?? {}
  assert.deepEqual(
    [cause, failure?.kind, failure?.message, failure?.remedy, String(failure?.cause)],
    [
      'start',
      'unavailable',
      'no such model. path=/nowhere',
      'Give a path that is there.',
      'Error: ENOENT',
    ],
  )
})

for (const where of ['asker', 'puppet', 'both'] as const) {
  test(`calls cross and are sent again where a process is: ${where}`, async (t) => {
    const planted = await grown(t, [
      puppet('puppet', where === 'asker' ? {} : isolated),
      asker('asker', where === 'puppet' ? {} : isolated),
    ])
    const client = planted.tree.client('asker', askerContract)
    assert.equal(await client.ask.jobAgain('throw'), 2)
    assert.deepEqual(planted.story('restarting'), ['restarting puppet'])
  })
}

test('a call to a process that ends settles, naming it', async (t) => {
  const planted = await grown(t, [puppet('puppet', isolated), asker()])
  await assert.rejects(planted.tree.client('asker', askerContract).ask.job('abort'), {
    kind: 'unavailable',
    message: /actor=puppet, request=job/,
  })
})

test('what a message holds comes to a process and back as it was', async (t) => {
  const planted = await grown(t, [puppet('puppet', isolated)])
  const client = planted.tree.client('puppet', puppetContract)
  const floats = new Float32Array(5 << 20).map((_, i) => i)
  const rest = { ids: new BigInt64Array([-1n]), part: new Uint8Array([1, 2, 3]).subarray(1, 2) }
  const back = await client.ask.echo({ floats, rest: { ...rest, map: new Map([[1, undefined]]) } })
  assert.deepEqual(back.floats, floats)
  assert.deepEqual(back.rest, {
    ids: new BigInt64Array([-1n]),
    part: new Uint8Array([2]),
    map: new Map([[1, undefined]]),
  })
})

test('a process that loops unannounced is ended; an announced one has its time', async (t) => {
  const planted = await grown(t, [puppet('puppet', { ...isolated, heartbeatMs: 1_200 })])
  const client = planted.tree.client('puppet', puppetContract)
  await client.ask.block({ ms: 2_000, announcedMs: 20_000 })
  assert.deepEqual(planted.story('died'), [])
  await assert.rejects(client.ask.block({ ms: 60_000 }), PeerEnded)
  await planted.until(startOf('puppet', 2))
  assert.match(deathOf(planted)?.reason ?? '', /no sign of life/)
})

test('a process past its deadline inside native code is ended: nothing is wedged', async (t) => {
  const planted = await grown(t, [puppet('puppet', { ...isolated, heartbeatMs: 1_200 })])
  const client = planted.tree.client('puppet', puppetContract)
  await assert.rejects(client.ask.insideGate({ ms: 60_000, announcedMs: 300 }), PeerEnded)
  await planted.until(startOf('puppet', 2))
  assert.match(deathOf(planted)?.reason ?? '', /busy past its deadline. work=inside/)
  assert.deepEqual(planted.wedged, [])
})

test('a kill ends a process at once, inside native code too', async (t) => {
  const planted = await grown(t, [puppet('puppet', isolated)])
  const client = planted.tree.client('puppet', puppetContract)
  const pid = await client.ask.pid()
  const settled = Promise.allSettled([client.ask.insideGate({ ms: 60_000, announcedMs: 60_000 })])
  while (planted.tree.status().children[0]?.busy?.work !== 'inside') await sleep(10)
  const killed = (await planted.tree.kill('puppet')) ?? assert.fail('it is not up')
  assert.deepEqual([killed.pid, killed.waitedFor], [pid, null])
  assert.ok(!isAlive({ pid }))
  // Not even its exit code is kept: it is no zombie.
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  await settled
  await planted.until(startOf('puppet', 2))
  assert.match(planted.tree.status().children[0]?.lastCause ?? '', /ordered: killed/)
})

test('a stop drains a process, and no signal that is meant for all ends it before', async (t) => {
  const planted = await grown(t, [puppet('puppet', isolated)])
  const client = planted.tree.client('puppet', puppetContract)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.kill(await client.ask.pid(), signal)
  await planted.tree.stop()
  assert.deepEqual(planted.story('drained', 'ended', 'died'), ['drained puppet', 'ended puppet'])
})

/** Starts what keeps the stream of its ports open when it has gone, and notes its number. */
const leavesHolder = (note: string): URL => {
  const code = `
    import { spawn } from 'node:child_process'
    import { renameSync, writeFileSync } from 'node:fs'
    const ports = ['ignore', 'ignore', 'ignore', 'ignore', ${portsFd}]
    const args = ['-e', 'setTimeout(() => undefined, 60_000)']
    const { pid } = spawn(process.execPath, args, { stdio: ports })
    writeFileSync('${note}.tmp', String(pid))
    renameSync('${note}.tmp', '${note}')
    setInterval(() => undefined, 1_000)`
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`)
}

for (const how of ['is ended', 'is killed']) {
  test(`a process that ${how}, and whose stream stays open, is told to have ended`, async (t) => {
    const note = join(process.cwd(), how.replace(' ', '-'))
    const { promise, resolve } = deferred<End>()
    const vessel = new Process(
      {
        spec: { id: 'holding', entry: leavesHolder(note), input: null, heartbeatMs: 20_000 },
        ...{ generation: 1, clock: systemClock, log: { level: 'info', stderr: 'none' } },
        onEnd: resolve,
      },
      { leaveMs: 100 },
    )
    t.after(() => vessel.end())
    while (!existsSync(note)) await sleep(10)
    const holder = Number(readFileSync(note, 'utf8'))
    t.after(() => process.kill(holder, 'SIGKILL'))
    if (how === 'is ended') assert.equal(await vessel.end(), true)
    else process.kill(vessel.pid ?? assert.fail('it has no number'), 'SIGKILL')
    assert.deepEqual(await promise, { code: null, signal: 'SIGKILL', error: undefined })
    assert.ok(isAlive({ pid: holder }))
  })
}

test('a process that finds no descriptor left ends, and nothing else does', async () => {
  const script = fileURLToPath(new URL('../../support/without-descriptors.js', import.meta.url))
  const limited = ['-c', 'ulimit -n 100; exec "$0" "$1"', process.execPath, script]
  const { stdout } = await promisify(execFile)('sh', limited)
  assert.match(stdout, /not start it\. what=puppet: spawn .*EMFILE\. Raise .*`ulimit -n`/)
})

for (const { code, refuse } of refusals) {
  test(`a start that the system refuses (${code}) is a death, and is tried again`, async (t) => {
    const planted = await grown(t, [puppet('puppet', isolated), puppet('other')])
    const client = planted.tree.client('puppet', puppetContract)
    const allow = refuse()
    t.after(allow)
    await client.ask.die('exit 3').catch((error: unknown) => assert.ok(error instanceof PeerEnded))
    const refused = () => planted.events.flatMap((e) => (e.kind === 'died' ? [e.death] : []))[1]
    while (!refused()) await sleep(10)
    allow()
    const { cause, failure, reason } = refused() ?? {}
    assert.deepEqual([cause, failure?.kind], ['start', 'unavailable'])
    assert.match(reason ?? '', new RegExp(`not start it. what=puppet: spawn .*${code}`))
    assert.ok(failure?.remedy)
    while ((await client.again((ask) => ask.generation())) < 3) await sleep(10)
    assert.deepEqual(
      planted.tree.status().children.map(({ id, state }) => [id, state]),
      [
        ['puppet', 'running'],
        ['other', 'running'],
      ],
    )
  })
}

test('starts that the system refuses for ever use up the restarts, and are given up', async (t) => {
  const allow = refusals[0]?.refuse()
  t.after(() => allow?.())
  const planted = plant(t, supervisor('root', [puppet('puppet', isolated)]))
  await assert.rejects(planted.tree.start(), { kind: 'unavailable' })
  assert.match(planted.tree.status().children[0]?.lastCause ?? '', /E2BIG/)
})

test('no process outlives its supervisor, also not inside native code', async () => {
  const script = fileURLToPath(new URL('../../support/orphan.js', import.meta.url))
  const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: parent.stdout }), 'line')
  const pid = Number(line)
  assert.ok(isAlive({ pid }))
  parent.kill('SIGKILL')
  while (isAlive({ pid })) await sleep(10)
})
