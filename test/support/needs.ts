/**
 * What a test wants beyond a machine with Node, and the one wording of its absence: the runner
 * reads it back, so that in CI no test skips though what it wants is there.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { projectRoot } from './golden.ts'
import { swiftShaderDir, swiftShaderVariable } from './swiftshader.ts'

const swiftShader = `SwiftShader (${swiftShaderVariable})`

/** A tool's path, where it is on the PATH. Otherwise the test is skipped: return at once. */
export function needs(t: TestContext, tool: string): string | undefined {
  return found(t, tool, onPath(tool))
}

/** A path below the reference data beside the project, as `needs` gives that of a tool. */
export function needsShared(t: TestContext, path: string): string | undefined {
  return found(t, `../shared/${path}`, inShared(path))
}

/** The folder of SwiftShader, Chromium's Vulkan driver, as `needs` gives a tool's path. */
export function needsSwiftShader(t: TestContext): string | undefined {
  return found(t, swiftShader, swiftShaderDir())
}

function found(t: TestContext, what: string, at: string | undefined): string | undefined {
  if (at === undefined) t.skip(`needs ${what}: not found`)
  return at
}

/** Why a test had no reason to skip, where it had none. */
export function unfounded(reason: string): string | undefined {
  if (reason.trim() === '') return 'it gives no reason'
  const what = /^needs (?<what>.+): not found$/.exec(reason)?.groups?.what
  if (what === undefined) return undefined
  const shared = /^\.\.\/shared\/(?<path>.+)$/.exec(what)?.groups?.path
  const at = placeOf(what, shared)
  return at === undefined ? undefined : `it is there: ${at}`
}

function placeOf(what: string, shared: string | undefined): string | undefined {
  if (what === swiftShader) return swiftShaderDir()
  return shared === undefined ? onPath(what) : inShared(shared)
}

function onPath(tool: string): string | undefined {
  for (const dir of (process.env.PATH ?? '').split(delimiter)) {
    const at = join(dir, tool)
    if (dir !== '' && isExecutable(at)) return at
  }
  return undefined
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function inShared(path: string): string | undefined {
  const at = join(projectRoot, '..', 'shared', path)
  return existsSync(at) ? at : undefined
}
