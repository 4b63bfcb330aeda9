import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { filesBelow, folder, writeConfig } from '../../support/commands/golden-job.ts'
import { projectRoot } from '../../support/golden.ts'

const commands = [
  ...['run', 'resume', 'train', 'status', 'check', 'verify', 'explain', 'gc', 'import'],
  ...['retry-quarantined', 'eval', 'export', 'demo', 'bench'],
]

test('usage: every command has its --help, on stdout', async (t) => {
  const dir = folder(t)
  const eachHelp = async (command: string): Promise<void> => {
    const ended = await draftsmith([command, '--help'], { dir })
    assert.equal(ended.code, 0, ended.stderr)
    assert.match(ended.stdout, new RegExp(`^Usage: draftsmith ${command} `))
    assert.match(ended.stdout, /--json/)
    const [first] = ended.stdout.split('\n')
    // What it is given is said, too.
    const takes = /[<[](?!options)/.test(first ?? '')
    assert.equal(/^Arguments:\n {2}\S+ {2,}\S/m.test(ended.stdout), takes, ended.stdout)
    assert.equal(ended.stderr, '')
    assertReadable(ended)
  }
  await Promise.all(commands.map(eachHelp))
  const all = await draftsmith(['--help'], { dir })
  assert.equal(all.code, 0)
  for (const command of commands) assert.match(all.stdout, new RegExp(`^ {2}${command} `, 'm'))
})

test('usage: bench --help names every benchmark', async (t) => {
  const dir = folder(t)
  const [help, refused] = await Promise.all([
    draftsmith(['bench', '--help'], { dir }),
    draftsmith(['bench', 'none'], { dir }),
  ])
  const names = /want=(.*), found=none/.exec(refused.stderr)?.[1]?.split(', ') ?? []
  assert.ok(names.length > 1, refused.stderr)
  for (const name of names) assert.match(help.stdout, new RegExp(`^ {2}${name} +\\S.{20}`, 'm'))
})

test('usage: --version is that of package.json', async (t) => {
  const ended = await draftsmith(['--version'], { dir: folder(t) })
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'))
  assert.deepEqual(ended, { code: 0, stdout: `${version}\n`, stderr: '' })
})

test('usage: with --json a mistake is one document on stdout, too', async (t) => {
  const ended = await draftsmith(['verify', '--json', '--heads', '-1'], { dir: folder(t) })
  assertRefused(ended, { says: [/--heads.*'-1' is invalid/] })
  const { code, reason, remedy } = JSON.parse(ended.stdout)
  assert.equal(code, 2)
  assert.match(reason, /^option '--heads/)
  assert.match(remedy, /--help/)
})

test('usage: what is no command or option is refused, with the nearest that is one', async (t) => {
  const dir = folder(t)
  const help = /draftsmith --help/
  const cases: [string[], RegExp[]][] = [
    [['stauts'], [/unknown command 'stauts'/, /Did you mean status\?/, help]],
    [['extract'], [/unknown command 'extract'/, help]],
    [
      ['run', 'x.yaml', '--jsn'],
      [/unknown option '--jsn'/, /Did you mean --json\?/, help],
    ],
    [['run'], [/missing required argument 'config'/, help]],
    [
      ['verify', 'a', 'b'],
      [/too many arguments for 'verify'/, help],
    ],
    [[], [/^Usage: draftsmith/]],
  ]
  const refused = async ([args, says]: [string[], RegExp[]]) =>
    assertRefused(await draftsmith(args, { dir }), { says })
  await Promise.all(cases.map(refused))
})

test('configuration: a file that is not there, or is no YAML, is named', async (t) => {
  const dir = folder(t)
  const missing = await draftsmith(['run', 'missing.yaml'], { dir })
  const says = [/no configuration can be read. path=missing.yaml: ENOENT/, /Name a YAML or JSON/]
  assertRefused(missing, { says })
  writeFileSync(join(dir, 'torn.yaml'), 'store: [file:///x\nwork: "y\n')
  const torn = await draftsmith(['run', 'torn.yaml'], { dir })
  assertRefused(torn, { says: [/2 faults. file=torn.yaml/, /at line 2, column \d+\n/] })
  assert.deepEqual(filesBelow(dir), ['torn.yaml'])
})

test('configuration: everything wrong is told at once, with the nearest name', async (t) => {
  const dir = folder(t)
  const lines = [
    'stor: file:///x',
    'dataset: { pth: a, columns: { inputId: x } }',
    'target: { layers: all }',
    'extract: { devices: [gpu], dtyp: bf16, tokenBudget: -3 }',
    'spool: { keepFree: 20 parsecs }',
    'trian: {}',
  ]
  writeFileSync(join(dir, 'config.yaml'), lines.join('\n'))
  const faults = [
    /file=config.yaml/,
    /12 fault/,
    /^ {2}store: missing/m,
    /^ {2}stor: no such key. Nearest: store$/m,
    /^ {2}dataset.path: missing/m,
    /^ {2}dataset.pth: no such key. Nearest: path$/m,
    /^ {2}dataset.columns.inputId: no such key. Nearest: inputIds$/m,
    /^ {2}target.path: missing/m,
    /^ {2}target.layers: .*found="all"$/m,
    /^ {2}extract.devices.0: .*want=cpu, cuda:0.*found="gpu"$/m,
    /^ {2}extract.tokenBudget: .*found=-3$/m,
    /^ {2}extract.dtyp: no such key. Nearest: dtype$/m,
    /^ {2}spool.keepFree: .*150GB.*found="20 parsecs"$/m,
    /^ {2}trian: no such key. Nearest: train$/m,
    /nothing was changed/,
  ]
  assertRefused(await draftsmith(['run', 'config.yaml'], { dir }), { says: faults })
  const checked = await draftsmith(['check', 'config.yaml', '--json'], { dir })
  assert.equal(checked.code, 2)
  const { ok, findings } = JSON.parse(checked.stdout)
  assert.equal(ok, false)
  assert.equal(findings.length, 1)
  for (const fault of faults.slice(0, -1)) assert.match(findings[0].found, fault)
  assert.deepEqual(filesBelow(dir), ['config.yaml'])
})

test('configuration: sections that are not built draw a warning, never an error', async (t) => {
  const dir = folder(t)
  const path = writeConfig(dir, 'job')
  const later = {
    monitor: { port: 8080, host: '127.0.0.1' },
    notify: { url: null },
    cluster: { url: null },
  }
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...later }))
  const ended = await draftsmith(['check', path, '--json'], { dir })
  assert.equal(ended.code, 0, ended.stdout)
  const [{ what, found }] = JSON.parse(ended.stdout).findings
  assert.equal(what, 'configuration')
  for (const section of Object.keys(later)) assert.match(found, new RegExp(`${section}: this ver`))
})
