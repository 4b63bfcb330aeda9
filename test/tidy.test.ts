/** The house rules, executable. What each rule finds is proven in test/support/tidy/*.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { projectRoot } from './support/golden.ts'
import * as importRules from './support/tidy/import-rules.ts'
import { libraryDocumented } from './support/tidy/library-rules.ts'
import * as simulatorRules from './support/tidy/simulator-rules.ts'
import { type Rule, readProject } from './support/tidy/sources.ts'
import * as textRules from './support/tidy/text-rules.ts'

const rules: Readonly<Record<string, Rule>> = {
  'imports point one way: src ← protocol ← actors ← supervisors': importRules.importArrows,
  'inside src/, a folder imports only those it may know': importRules.sourceArrows,
  'inside supervisors/, too': importRules.supervisorArrows,
  'src/ knows no thread, message or machine': importRules.sourceKnowsNoThread,
  'no actor imports another': importRules.actorsApart,
  'of an actor a supervisor imports its index': importRules.actorsByIndex,
  'no supervisor imports a worker': importRules.workersNotImported,
  'only protocol/channel.ts posts messages': importRules.channelAlone,
  'the simulator runs the product, and touches nothing real': simulatorRules.simulatorRunsProduct,
  'in the simulator time and chance are simulated': simulatorRules.simulatorHasItsTime,
  'every file is reached from an entry': importRules.noOrphans,
  'no file is longer than 300 lines': textRules.fileLength,
  'no line is longer than 100 columns': textRules.lineLength,
  'names are kebab-case and say what a file does': textRules.fileNames,
  'no any': textRules.noAny,
  'no finding is silenced': textRules.noSilencing,
  'no comment marks work to do': textRules.noWorkMarkers,
  'no barrels': textRules.noBarrels,
  'what the library offers is documented': libraryDocumented,
  'no path of one machine': textRules.noMachinePaths,
  'the lock file names no registry': textRules.noRegistryHost,
}

const sources = readProject(projectRoot)

for (const [claim, rule] of Object.entries(rules)) {
  test(`tidy: ${claim}`, () => {
    const found = rule(sources).map(({ path, line, message }) => `${path}:${line}: ${message}`)
    assert.equal(found.length, 0, `\n${found.join('\n')}`)
  })
}

test('tidy: the rules see the project: its package, its sources, themselves', () => {
  const paths = new Set(sources.map((source) => source.path))
  for (const path of ['package.json', 'package-lock.json', 'src/failure.ts', 'test/tidy.test.ts']) {
    assert.ok(paths.has(path), path)
  }
})
