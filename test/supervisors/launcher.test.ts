import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Clock, systemClock } from '../../src/clock.ts'
import { launch, verdict } from '../../supervisors/launcher.ts'
import { silent } from '../support/ledger-rig.ts'
import { refusals } from '../support/refused-starts.ts'
import { scratch } from '../support/target-run.ts'

test('launcher: an exit code of ours is the end', () => {
  for (const code of [0, 1, 2, 3, 4, 5, 129, 130, 143]) {
    assert.deepEqual(verdict(code, null), { exit: code })
  }
})

test('launcher: ended by a signal that asks for an end, it is the end', () => {
  assert.deepEqual(verdict(null, 'SIGTERM'), { exit: 143 })
  assert.deepEqual(verdict(null, 'SIGINT'), { exit: 130 })
  assert.deepEqual(verdict(null, 'SIGHUP'), { exit: 129 })
})

test('launcher: aborted, killed or wedged, it is started again, and the cause is kept', () => {
  for (const signal of ['SIGABRT', 'SIGKILL', 'SIGSEGV', 'SIGBUS', 'SIGILL'] as const) {
    assert.deepEqual(verdict(null, signal), { relaunch: signal })
  }
  for (const code of [6, 7, 13, 127, 128, 131, 134, 137, 139, 142, 144, 255]) {
    assert.deepEqual(verdict(code, null), { relaunch: `exit code ${code}` })
  }
})

test('launcher: what was told to stop and ends by a kill is not started again', async (t) => {
  const main = join(await scratch(t), 'main.mjs')
  const kill = "process.kill(process.pid, 'SIGKILL')"
  await writeFile(main, `process.send({ exit: 5 }, () => ${kill})`)
  assert.equal(await launch(main, [], silent), 5)
})

test('launcher: a process that dies as it drains has not drained', async (t) => {
  const dir = await scratch(t)
  const [main, launcher] = [join(dir, 'main.mjs'), join(dir, 'launcher.mjs')]
  await writeFile(
    main,
    `process.on('SIGTERM', () => process.kill(process.pid, 'SIGKILL'))
     process.kill(process.ppid, 'SIGTERM')
     setInterval(() => undefined, 1000)`,
  )
  const [launcherOf, logOf] = ['supervisors/launcher.js', 'src/log.js'].map((path) =>
    JSON.stringify(new URL(`../../${path}`, import.meta.url).href),
  )
  await writeFile(
    launcher,
    `import { launch } from ${launcherOf}
     import { openLog } from ${logOf}
     const log = openLog({ actor: 'launcher', level: 'info', stderr: 'json' })
     process.exit(await launch(${JSON.stringify(main)}, [], log))`,
  )
  const ended = spawnSync(process.execPath, [launcher], { encoding: 'utf8', timeout: 60_000 })
  assert.match(ended.stderr, /SIGKILL.*the process died as it drained/)
  assert.equal(ended.status, 4)
})

test('launcher: a process that is started again serves the same call', async (t) => {
  const dir = await scratch(t)
  const [main, calls] = [join(dir, 'main.mjs'), join(dir, 'calls')]
  await writeFile(
    main,
    `import { appendFileSync, readFileSync } from 'node:fs'
     appendFileSync(process.argv[2], process.env.DRAFTSMITH_CALL + '\\n')
     const times = readFileSync(process.argv[2], 'utf8').split('\\n').length - 1
     if (times % 2 === 1) process.kill(process.pid, 'SIGKILL')`,
  )
  for (let call = 0; call < 2; call++) assert.equal(await launch(main, [calls], silent), 0)
  const [first, again, second, last] = (await readFile(calls, 'utf8')).split('\n')
  assert.deepEqual([first, second], [again, last])
  assert.notEqual(first, second)
})

/** Dies at its first start, and notes at each what it hears of the one before. */
async function dyingOnce(t: TestContext) {
  const dir = await scratch(t)
  const [main, notes] = [join(dir, 'main.mjs'), join(dir, 'notes')]
  await writeFile(
    main,
    `import { appendFileSync, readFileSync } from 'node:fs'
     appendFileSync(process.argv[2], process.env.DRAFTSMITH_WATCHED + '\\n')
     const times = readFileSync(process.argv[2], 'utf8').split('\\n').length - 1
     if (times === 1) process.kill(process.pid, 'SIGKILL')`,
  )
  return { main, notes }
}

for (const { code, refuse } of refusals) {
  test(`launcher: refused a process (${code}), it tries again`, async (t) => {
    const { main, notes } = await dyingOnce(t)
    let allow = (): void => undefined
    const waitsMs: number[] = []
    const clock: Clock = {
      ...systemClock,
      setTimeout: (fn, ms) => {
        waitsMs.push(ms)
        allow()
        allow = waitsMs.length === 1 ? refuse() : () => undefined
        return systemClock.setTimeout(fn, 0)
      },
    }
    t.after(() => allow())
    assert.equal(await launch(main, [notes], silent, clock), 0)
    assert.equal(await readFile(notes, 'utf8'), 'first\nSIGKILL\n')
    assert.deepEqual(waitsMs, [250, 500])
  })

  test(`launcher: refused a process (${code}) for ever, it gives up`, async (t) => {
    const { main, notes } = await dyingOnce(t)
    const soon: Clock = { ...systemClock, setTimeout: (fn) => systemClock.setTimeout(fn, 0) }
    t.after(refuse())
    assert.equal(await launch(main, [notes], silent, soon), 4)
  })
}
