import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lex } from './lexer.ts'

const squeeze = (text: string): string => text.replace(/ +/g, ' ').trim()

test('lexer: comments and the insides of literals are no code', () => {
  const { code, comments, strings } = lex(
    "const a = 'any' // any\n/* any\n any */ const b: any = 1",
  )
  assert.equal(squeeze(code), "const a = ' ' \n \n const b: any = 1")
  assert.equal(squeeze(comments), '// any\n/* any\n any */')
  assert.deepEqual(strings, [{ value: 'any', at: 10 }])
})

test('lexer: lengths and lines stay, so that a place in the code is one in the text', () => {
  const text = `/* one\ntwo */ f(\`three\n\${'four'} five\`) // six\n/se'ven/.test(x)\n`
  const { code, comments } = lex(text)
  assert.equal(code.length, text.length)
  assert.equal(comments.length, text.length)
  assert.equal(code.split('\n').length, text.split('\n').length)
})

test('lexer: quotes and comment marks inside other literals open nothing', () => {
  for (const [text, code] of [
    ['a("it\'s") ; any', 'a(" ") ; any'],
    ["a('//') ; any", "a(' ') ; any"],
    ["a('\\'') ; any", "a(' ') ; any"],
    ["x = /'/ ; any", 'x = / / ; any'],
    ['f(/[/\'"]/g) ; any', 'f(/ g) ; any'],
    ["return /\\/'/ ; any", 'return / / ; any'],
    ["a / b / 'c' ; any", "a / b / ' ' ; any"],
    ["(a) / b ; 'c' ; any", "(a) / b ; ' ' ; any"],
    ['`//` ; any', '` ` ; any'],
    ['`\\`any` ; any', '` ` ; any'],
    // A hole is code, and may hold braces and further templates.
    [`\`any \${f({ b: any })} any\` ; any`, `\` \${f({ b: any })} \` ; any`],
    [`\`\${\`any \${any}\`} any\` ; any`, `\`\${\` \${any}\`} \` ; any`],
  ] as const) {
    assert.equal(squeeze(lex(text).code), code, text)
  }
})

test('lexer: strings are given where they stand, those within templates too', () => {
  const { strings } = lex(`import('./a.ts'); \`\${new URL('./b.js', base)}\``)
  assert.deepEqual(
    strings.map((found) => found.value),
    ['./a.ts', './b.js'],
  )
})

test('lexer: text cut short ends, it does not hang', () => {
  for (const text of ["'open", '`open', '`${open', '/* open', '/open']) {
    assert.equal(lex(text).code.length, text.length, text)
  }
})
