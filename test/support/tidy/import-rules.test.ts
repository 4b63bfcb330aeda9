import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as rules from './import-rules.ts'
import type { Rule } from './sources.ts'

/** What a rule says of a made-up project, given as path → text. */
const findings = (rule: Rule, project: Record<string, string>): string[] =>
  rule(Object.entries(project).map(([path, text]) => ({ path, text }))).map(
    ({ path, line, message }) => `${path}:${line}: ${message}`,
  )

const finds = (rule: Rule, path: string, text: string, want: RegExp): void => {
  const found = findings(rule, { [path]: text })
  assert.equal(found.length, 1, `${path}: ${text}`)
  assert.match(found[0] ?? '', want)
}

const allows = (rule: Rule, path: string, text: string): void =>
  assert.deepEqual(findings(rule, { [path]: text }), [], `${path}: ${text}`)

test('tidy rules: imports against the arrow are found, at their line', () => {
  finds(
    rules.importArrows,
    'src/store/file.ts',
    "import { a } from '../clock.ts'\nimport type { B } from '../../protocol/sample.ts'\n",
    /^src\/store\/file\.ts:2: src\/ may not import protocol\/ \(protocol\/sample\.ts\)/,
  )
  const against = [
    ['protocol/ledger.ts', '../actors/ledger/index.ts'],
    ['actors/ledger/index.ts', '../../supervisors/root.ts'],
    ['supervisors/main.ts', '../test/support/golden.ts'],
  ] as const
  for (const [path, target] of against) {
    finds(rules.importArrows, path, `import { a } from '${target}'`, /may not import/)
    finds(rules.importArrows, path, `import '${target}'`, /may not import/)
    finds(rules.importArrows, path, `await import('${target}')`, /may not import/)
  }
  allows(rules.importArrows, 'supervisors/root.ts', "import { a } from '../actors/a/index.ts'")
  allows(rules.importArrows, 'test/a.test.ts', "import { a } from '../supervisors/main.ts'")
  allows(rules.importArrows, 'src/a.ts', "// import { a } from '../protocol/a.ts'")
  allows(rules.importArrows, 'src/a.ts', "import { test } from 'node:test'")
})

test('tidy rules: inside src/ a folder that may not know another is found', () => {
  const from = (target: string) => `import { a } from '${target}'`
  finds(rules.sourceArrows, 'src/spool/spool.ts', from('../store/store.ts'), /spool.*store/)
  finds(rules.sourceArrows, 'src/graph/graph.ts', from('../session/gate.ts'), /graph.*session/)
  finds(rules.sourceArrows, 'src/unheard-of/a.ts', from('../store/store.ts'), /has no row/)
  allows(rules.sourceArrows, 'src/manifest/log.ts', from('../store/store.ts'))
  allows(rules.sourceArrows, 'src/manifest/log.ts', from('./segment.ts'))
  allows(rules.sourceArrows, 'src/spool/spool.ts', from('../failure.ts'))
  allows(rules.sourceArrows, 'src/index.ts', from('./spool/spool.ts'))
})

test('tidy rules: a run that knows who shows or calls it is found', () => {
  const from = (target: string) => `import { a } from '../${target}'`
  const run = 'supervisors/run/run.ts'
  finds(rules.supervisorArrows, run, from('display/report.ts'), /run.*display/)
  finds(rules.supervisorArrows, run, from('commands/run.ts'), /run.*commands/)
  finds(rules.supervisorArrows, 'supervisors/unheard-of/a.ts', from('run/run.ts'), /has no row/)
  allows(rules.supervisorArrows, 'supervisors/display/report.ts', from('run/result.ts'))
  allows(rules.supervisorArrows, run, from('job.ts'))
  allows(rules.supervisorArrows, 'supervisors/supervised.ts', "import './display/terminal.ts'")
})

test('tidy rules: src/ may import no thread, channel or machine', () => {
  for (const name of ['node:worker_threads', 'comlink', 'xstate']) {
    finds(rules.sourceKnowsNoThread, 'src/a.ts', `import { a } from '${name}'`, /knows no thread/)
    allows(rules.sourceKnowsNoThread, 'actors/a/b.ts', `import { a } from '${name}'`)
  }
})

test('tidy rules: an actor that imports another is found', () => {
  const other = "import { a } from '../ledger/index.ts'"
  finds(
    rules.actorsApart,
    'actors/uploader/upload.ts',
    other,
    /uploader may not import actor ledger/,
  )
  allows(rules.actorsApart, 'actors/uploader/upload.ts', "import { a } from './machine.ts'")
})

test('tidy rules: a supervisor may name a worker, not import it', () => {
  const worker = '../actors/ledger/worker'
  const path = 'supervisors/storage.ts'
  finds(rules.workersNotImported, path, `import '${worker}.ts'`, /name it in the child spec/)
  allows(rules.workersNotImported, path, `new URL('${worker}.js', import.meta.url)`)
})

test('tidy rules: a supervisor that reaches into an actor is found', () => {
  const [path, own] = ['supervisors/a.ts', "import { a } from '../actors/reader/open.ts'"]
  finds(rules.actorsByIndex, path, own, /start it by its index.ts/)
  allows(rules.actorsByIndex, path, "import { reader } from '../actors/reader/index.ts'")
  allows(rules.actorsByIndex, path, "import { count } from '../actors/console/text.ts'")
  allows(rules.actorsByIndex, 'supervisors/bench/a.ts', "import '../../actors/reader/open.ts'")
  allows(rules.actorsByIndex, 'test/a.test.ts', "import '../actors/reader/open.ts'")
})

test('tidy rules: comlink and postMessage are found outside the channel', () => {
  const text = "import { wrap } from 'comlink'\nport.postMessage(1)\n"
  const found = findings(rules.channelAlone, { 'supervisors/a.ts': text })
  assert.deepEqual(
    found.map((finding) => finding.split(': ')[0]),
    ['supervisors/a.ts:1', 'supervisors/a.ts:2'],
  )
  finds(rules.channelAlone, 'src/a.ts', "import * as c from 'comlink/dist/x'", /confined/)
  allows(rules.channelAlone, 'protocol/channel.ts', text)
  allows(rules.channelAlone, 'src/a.ts', '// postMessage drops the class of an error')
  allows(rules.channelAlone, 'test/protocol/channel.test.ts', 'port.postMessage(1)')
  allows(
    rules.channelAlone,
    'protocol/a.ts',
    'interface Port { postMessage(message: unknown): void }',
  )
})

test('tidy rules: what no entry reaches is an orphan, however it hangs together', () => {
  const project = {
    'package.json': '{ "bin": "dist/supervisors/main.js", "build": "node build/scripts/make.js" }',
    'supervisors/main.ts': "import { a } from './root.ts'",
    'supervisors/root.ts': "new URL('../actors/a/worker.js', import.meta.url)",
    'actors/a/worker.ts': "await import('./work.ts')",
    'actors/a/work.ts': '',
    'scripts/make.ts': "import '../src/a.ts'",
    'src/a.ts': "import type { B } from './b.ts'",
    'src/b.ts': '',
    'src/dev-s3/main.ts': '',
    'test/a.test.ts': "import '../src/only-tested.ts'",
    'src/only-tested.ts': '',
    'src/lost.ts': "import './lost-too.ts'",
    'src/lost-too.ts': "import './lost.ts'",
    'src/index-2.ts': '',
  }
  const message = 'no entry leads here: import it, or delete it'
  assert.deepEqual(findings(rules.noOrphans, project), [
    `src/lost.ts:1: ${message}`,
    `src/lost-too.ts:1: ${message}`,
    `src/index-2.ts:1: ${message}`,
  ])
})
