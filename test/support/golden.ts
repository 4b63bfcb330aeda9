import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The project's root, found from wherever the compiled test lies. */
export const projectRoot: string = (() => {
  let at = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(at, 'tsconfig.json'))) {
    const parent = dirname(at)
    if (parent === at) throw new Error('no tsconfig.json above this file')
    at = parent
  }
  return at
})()

export const golden = (...parts: string[]): string => join(projectRoot, 'test', 'golden', ...parts)

export const goldenJson = (...parts: string[]): unknown =>
  JSON.parse(readFileSync(golden(...parts), 'utf8'))
