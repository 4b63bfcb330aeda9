/** The project's text as the house rules see it. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path/posix'
import { type Lexed, lex } from './lexer.ts'

export interface Source {
  /** From the project's root, `/`-separated. */
  readonly path: string
  readonly text: string
}

export interface Finding {
  readonly path: string
  readonly line: number
  /** What is wrong, and what to do. */
  readonly message: string
}

/** A rule sees all sources at once: some are about one file, some about how files hang together. */
export type Rule = (sources: readonly Source[]) => Finding[]

const folders = ['actors', 'docs', 'protocol', 'scripts', 'src', 'supervisors', 'test', '.ci']

/** All that is written by hand, and the lock file; not `test/golden`, which other programs made. */
export function readProject(root: string): Source[] {
  const top = readdirSync(root, { withFileTypes: true })
  const files = top.filter((entry) => entry.isFile() && /\.(json|md)$|^\.\w+$/.test(entry.name))
  const paths = files.map((entry) => entry.name)
  for (const folder of folders.filter((name) => top.some((entry) => entry.name === name))) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath.slice(root.length + 1), entry.name)
      if (entry.isFile() && !path.startsWith('test/golden/')) paths.push(path)
    }
  }
  return paths.sort().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

export const isTypeScript = (source: Source): boolean => source.path.endsWith('.ts')

export const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length

const lexed = new WeakMap<Source, Lexed>()

/** Taken apart once, though many rules ask. */
function lexOnce(source: Source): Lexed {
  const known = lexed.get(source) ?? lex(source.text)
  lexed.set(source, known)
  return known
}

/** One finding for each match, at its line. */
export function findEach(
  source: Source,
  pattern: RegExp,
  where: 'text' | 'code' | 'comments',
  message: (matched: string) => string,
): Finding[] {
  const text = where === 'text' ? source.text : lexOnce(source)[where]
  return [...text.matchAll(pattern)].map((match) => ({
    path: source.path,
    line: lineAt(text, match.index),
    message: message(match[0]),
  }))
}

/** How a source names another module. */
export interface Reference {
  readonly line: number
  /** A package, or a path from the root that ends in `.ts`. */
  readonly target: string
  /** `named`: in a string alone, as a thread's entry is; it does not run here. */
  readonly kind: 'import' | 'named'
}

export function referencesOf(source: Source): Reference[] {
  const { code, strings } = lexOnce(source)
  return strings.flatMap(({ value, at }): Reference[] => {
    const kind = /\b(?:from|import)\s*\(?\s*$/.test(code.slice(Math.max(0, at - 40), at))
      ? 'import'
      : 'named'
    const line = lineAt(source.text, at)
    if (/^\.{1,2}\/.*\.[jt]s$/.test(value)) {
      const target = normalize(join(dirname(source.path), value)).replace(/\.js$/, '.ts')
      return [{ line, target, kind }]
    }
    return kind === 'import' ? [{ line, target: value, kind }] : []
  })
}
