/**
 * Makes the program, in `dist/`, of what tsc has made, in `build/`: a few files in place of the
 * thousand small ones that each start and each of its threads would otherwise find and read. Makes
 * the WebAssembly of both trees, too.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { compileWat } from './compile-wat.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const from = join(root, 'build')
const to = join(root, 'dist')
const parts = ['src', 'protocol', 'actors', 'supervisors']

/** What another thread or process starts with is named by its URL, not imported. */
const named = /new URL\('(\.\.?\/[^']+\.js)', import\.meta\.url\)/g

function entries(): string[] {
  const found = new Set(['src/index.js', 'supervisors/main.js'])
  for (const part of parts) {
    for (const name of readdirSync(join(from, part), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.js')) continue
      const path = join(from, part, name)
      for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(named)) {
        found.add(relative(from, join(dirname(path), target)))
      }
    }
  }
  return [...found].sort()
}

/** A module's own URL is that of the file it had, wherever its code lies now. */
const ownUrls: Plugin = {
  name: 'own URLs',
  setup({ onLoad }) {
    onLoad({ filter: /\.js$/ }, ({ path }) => {
      if (!path.startsWith(from)) return undefined
      const own = `__urlOf(${JSON.stringify(relative(from, path))})`
      const contents = readFileSync(path, 'utf8')
        .replaceAll('import.meta.url', own)
        // As a namespace of its own it is bundled less what nobody uses: half of zod is languages.
        .replace("import { z } from 'zod'", "import * as z from 'zod'")
      return { contents }
    })
  },
}

/** Stands for the way from an output file to `dist/`. */
const wayUp = '<way up>'

const { outputFiles } = await build({
  entryPoints: entries().map((path) => join(from, path)),
  outbase: from,
  outdir: to,
  bundle: true,
  splitting: true,
  chunkNames: 'chunks/[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Native, or loaded only where they are wanted.
  external: ['onnxruntime-node', 'pino-pretty'],
  banner: {
    js: [
      "import { createRequire as __createRequire } from 'node:module'",
      'const require = __createRequire(import.meta.url)',
      `const __urlOf = (path) => new URL('${wayUp}' + path, import.meta.url).href`,
    ].join('\n'),
  },
  legalComments: 'linked',
  // What messages about a graph's nodes name is a line of the source.
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
  plugins: [ownUrls],
  write: false,
})
for (const { path, text } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text.replaceAll(wayUp, `${relative(dirname(path), to) || '.'}/`))
}
// What is left of an earlier build goes last: a program that runs meanwhile finds its files.
const binaries = await compileWat(root, [from, to])
const made = new Set([...outputFiles.map(({ path }) => path), ...binaries])
for (const entry of readdirSync(to, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
  if (entry.isFile() && !made.has(path)) rmSync(path)
}
