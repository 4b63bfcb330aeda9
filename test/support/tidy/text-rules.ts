/** Rules that a file keeps by itself: its size, its name, the words in it. */
import { type Finding, findEach, isTypeScript, type Rule, type Source } from './sources.ts'

const linesMax = 300
const columnsMax = 100

const typeScriptRule =
  (check: (source: Source) => Finding[]): Rule =>
  (sources) =>
    sources.filter(isTypeScript).flatMap(check)

export const fileLength: Rule = typeScriptRule(({ path, text }) => {
  const lines = text.trimEnd().split('\n').length
  if (lines <= linesMax) return []
  const message = `${lines} lines, of at most ${linesMax}: find the second idea in it`
  return [{ path, line: linesMax + 1, message: `${message}, and give it a file` }]
})

export const lineLength: Rule = typeScriptRule(({ path, text }) =>
  text.split('\n').flatMap((content, index) => {
    const columns = [...content].length
    if (columns <= columnsMax) return []
    return [{ path, line: index + 1, message: `${columns} columns: break it at ${columnsMax}` }]
  }),
)

export const fileNames: Rule = typeScriptRule(({ path }) => {
  const names = path.replace(/(\.test)?\.ts$/, '').split('/')
  return names.flatMap((name) => {
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
      return [{ path, line: 1, message: `"${name}" is not kebab-case: rename it` }]
    }
    // A drill is named for what happens to the program: a short sentence.
    if (path.startsWith('test/drills/')) return []
    const vague = name.split('-').find((word) => vagueNames.has(word))
    if (vague === undefined) return []
    const message = `"${name}" says "${vague}": name it for what it does, or split it`
    return [{ path, line: 1, message }]
  })
})

const vagueNames = new Set(['and', 'common', 'helper', 'helpers', 'misc', 'util', 'utils'])

export const noAny: Rule = typeScriptRule((source) =>
  findEach(
    source,
    // A type, not a property or function of that name: Promise.any(), { any: 1 }.
    /(?<![.\w$])any\b(?!\s*[(:=])/g,
    'code',
    () => '"any" switches the types off: take unknown, and narrow it where it enters',
  ),
)

export const noSilencing: Rule = typeScriptRule((source) => [
  ...findEach(
    source,
    /@ts-(?:ignore|nocheck)|biome-ignore|eslint-disable/g,
    'comments',
    (directive) => `${directive} hides a finding: mend what it hides`,
  ),
  // Tests show with it that what must not compile does not.
  ...(source.path.startsWith('test/')
    ? []
    : findEach(source, /@ts-expect-error/g, 'comments', (directive) => {
        return `${directive} belongs in tests of what must not compile: mend what it hides`
      })),
])

export const noWorkMarkers: Rule = typeScriptRule((source) =>
  // A letter of each word in brackets, so that a search for the word finds real ones only.
  findEach(source, /\b(?:T[O]DO|FIXM[E]|XX[X]|HAC[K])\b/g, 'comments', (marker) => {
    return `${marker} marks work to do: finish it, or file it`
  }),
)

export const noBarrels: Rule = typeScriptRule((source) => [
  ...findEach(source, /^export\s+(?:type\s+)?\*/gm, 'code', () => {
    return 'export * hides where names come from: export them by name'
  }),
  ...(source.path === 'src/index.ts'
    ? []
    : findEach(source, /^export\s+(?:type\s+)?\{[^}]*\}\s*from\b/gm, 'code', () => {
        return 're-exports belong in src/index.ts alone: let readers import the file itself'
      })),
])

export const noMachinePaths: Rule = (sources) =>
  sources.flatMap((source) =>
    findEach(source, /(?<![\w.\-*}])\/(?:home|root|Users|work|farm)\/\w+/g, 'text', (path) => {
      return `${path} is a path of one machine: make it relative, or take it from the environment`
    }),
  )

export const noRegistryHost: Rule = (sources) =>
  sources
    .filter((source) => source.path === 'package-lock.json')
    .flatMap((source) =>
      findEach(source, /"resolved":\s*"\w+:\/\/[^"]*"/g, 'text', () => {
        return 'names a registry: run npm install with the .npmrc of this project'
      }),
    )
