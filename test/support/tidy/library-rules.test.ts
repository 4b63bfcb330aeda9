import assert from 'node:assert/strict'
import { test } from 'node:test'
import { libraryDocumented } from './library-rules.ts'

const undocumented = 'is offered by the library: say in a docstring what its type cannot'

const findings = (project: Record<string, string>): string[] =>
  libraryDocumented(Object.entries(project).map(([path, text]) => ({ path, text }))).map(
    ({ path, line, message }) => `${path}:${line}: ${message}`,
  )

test('tidy rules: what the library offers without a docstring is found', () => {
  const found = findings({
    'src/index.ts': [
      "export type { Plan } from './plan.ts'",
      'export {',
      '  type Clock,',
      '  sleep,',
      "} from './time/clock.ts'",
      "export { none } from './gone.ts'",
    ].join('\n'),
    'src/plan.ts': '/** Of the file. */\n\nexport interface Plan {}\nexport const own = 1\n',
    'src/time/clock.ts': [
      '/**',
      ' * Time.',
      ' */',
      'export interface Clock {}',
      '',
      'export async function sleep() {}',
    ].join('\n'),
  })
  assert.deepEqual(found, [
    `src/plan.ts:3: Plan ${undocumented}`,
    `src/time/clock.ts:6: sleep ${undocumented}`,
    'src/gone.ts:1: src/index.ts offers none of it',
  ])
})
