import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Rule } from './sources.ts'
import * as rules from './text-rules.ts'

/** The lines at which a rule finds fault with one made-up file. */
const linesOf = (rule: Rule, text: string, path = 'src/made-up.ts'): number[] =>
  rule([{ path, text }]).map((finding) => finding.line)

const messageOf = (rule: Rule, text: string, path = 'src/made-up.ts'): string =>
  rule([{ path, text }])[0]?.message ?? ''

// Spelled apart, so that this file breaks no rule itself.
const home = (name: string): string => ['', 'home', name].join('/')
const marker = ['TO', 'DO'].join('')

test('tidy rules: a file of 300 lines passes, one of 301 does not', () => {
  assert.deepEqual(linesOf(rules.fileLength, 'x\n'.repeat(300)), [])
  assert.deepEqual(linesOf(rules.fileLength, 'x\n'.repeat(301)), [301])
  assert.match(messageOf(rules.fileLength, 'x\n'.repeat(400)), /^400 lines, .*second idea/)
})

test('tidy rules: a line of 100 columns passes, one of 101 does not', () => {
  assert.deepEqual(linesOf(rules.lineLength, `${'x'.repeat(100)}\n${'←'.repeat(100)}\n`), [])
  assert.deepEqual(linesOf(rules.lineLength, `x\n${'x'.repeat(101)}\n`), [2])
})

test('tidy rules: names are kebab-case and not vague', () => {
  const drill = 'test/drills/killed-and-resumed.test.ts'
  const none = ['src/dev-s3/main.ts', 'src/a1/b.ts', 'test/src/two-words.test.ts', drill]
  for (const path of none) assert.deepEqual(linesOf(rules.fileNames, '', path), [], path)
  const each = [
    ['src/twoWords.ts', /kebab-case/],
    ['src/Two/words.ts', /kebab-case/],
    ['src/two_words.ts', /kebab-case/],
    ['src/a.b.ts', /kebab-case/],
    ['src/util.ts', /says "util"/],
    ['src/common/x.ts', /says "common"/],
    ['test/support/s3-helpers.ts', /says "helpers"/],
    ['src/read-and-write.ts', /says "and"/],
  ] as const
  for (const [path, want] of each) assert.match(messageOf(rules.fileNames, '', path), want, path)
})

test('tidy rules: any is found as a type, not as a word, a name or a method', () => {
  const bad = ['let a: any', 'f(a as any)', 'const m = new Map<string, any>()', 'type A = any[]']
  for (const text of bad) assert.deepEqual(linesOf(rules.noAny, `\n${text}`), [2], text)
  const fine = ['// any', "'any'", 'Promise.any(all)', 'const company = 1', '({ any: 1 })']
  for (const text of fine) assert.deepEqual(linesOf(rules.noAny, text), [], text)
})

test('tidy rules: directives that hide findings are found in comments alone', () => {
  for (const word of ['@ts-ignore', '@ts-nocheck', 'biome-ignore lint: no', 'eslint-disable']) {
    assert.deepEqual(linesOf(rules.noSilencing, `a\n// ${word}\n`), [2], word)
    assert.deepEqual(linesOf(rules.noSilencing, `const a = '${word}'`), [], word)
  }
  const expected = '// @ts-expect-error'
  assert.deepEqual(linesOf(rules.noSilencing, expected, 'src/a.ts'), [1])
  assert.deepEqual(linesOf(rules.noSilencing, expected, 'test/protocol/contract.test.ts'), [])
})

test('tidy rules: a comment that marks work to do is found, a string is not', () => {
  assert.deepEqual(linesOf(rules.noWorkMarkers, `a()\n/*\n * ${marker}: more\n */`), [3])
  assert.deepEqual(linesOf(rules.noWorkMarkers, `const a = '${marker}' // a ${marker}NE thing`), [])
})

test('tidy rules: src/index.ts alone re-exports, and by name', () => {
  const named = "export { a } from './a.ts'\nexport type {\n  B,\n} from './b.ts'\n"
  assert.deepEqual(linesOf(rules.noBarrels, named, 'src/store/index.ts'), [1, 2])
  assert.deepEqual(linesOf(rules.noBarrels, named, 'src/index.ts'), [])
  const star = "\nexport * from './a.ts'\n"
  assert.deepEqual(linesOf(rules.noBarrels, star, 'src/index.ts'), [2])
  assert.deepEqual(linesOf(rules.noBarrels, 'export { a }\nexport const b = 1'), [])
})

test('tidy rules: a path of one machine is found in any file, a relative one is not', () => {
  const bad = [`see ${home('ann')}`, `"file://${home('ann')}"`, `(${home('ann')}/x)`]
  for (const text of bad) {
    assert.deepEqual(linesOf(rules.noMachinePaths, `\n${text}`, 'README.md'), [2], text)
  }
  const fine = [`.${home('ann')}`, `docs${home('ann')}`]
  for (const text of fine) assert.deepEqual(linesOf(rules.noMachinePaths, text), [], text)
})

test('tidy rules: a lock file that names a registry is found', () => {
  const lock = '{\n  "resolved": "https://registry.example/a.tgz"\n}'
  assert.deepEqual(linesOf(rules.noRegistryHost, lock, 'package-lock.json'), [2])
  const fine = '{ "funding": { "url": "https://example.org" }, "integrity": "sha512-x" }'
  assert.deepEqual(linesOf(rules.noRegistryHost, fine, 'package-lock.json'), [])
})
