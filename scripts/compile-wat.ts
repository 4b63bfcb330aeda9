/** WebAssembly text beside the sources becomes binaries, at the same places of compiled trees. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import wabt from 'wabt'

/**
 * @param root   of the project, whose sources are in `src/`
 * @param trees  folders that each get all the binaries
 * @returns      the paths of the files that were written
 * @throws       Error: text that is no valid WebAssembly; names file and line
 */
export async function compileWat(root: string, trees: readonly string[]): Promise<string[]> {
  const { parseWat } = await wabt()
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  const written: string[] = []
  for (const file of files.filter((name) => name.endsWith('.wat'))) {
    const module = parseWat(file, readFileSync(join(root, 'src', file), 'utf8'), { simd: true })
    module.validate()
    for (const tree of trees) {
      const path = join(tree, 'src', file.replace(/\.wat$/, '.wasm'))
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, module.toBinary({}).buffer)
      written.push(path)
    }
    module.destroy()
  }
  return written
}
