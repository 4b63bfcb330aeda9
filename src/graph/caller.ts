/** Who called: for messages about a graph that was built wrongly. */
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'

/** Of the folders whose frames say how a node came about, and not who wanted it. */
const ownFrames = /(?<!test[/\\])src[/\\](graph|autodiff)[/\\]/

/** Frames that are kept: composites within regions take more than the ten that are usual. */
const depth = 48

interface Frame {
  /** Of the function, where it has one. */
  readonly name: string
  readonly file: string
  /** Both from 1. */
  readonly line: number
  readonly column: number
}

/** The place that asks, to be told by `callerOutside` if it is ever wanted. */
export function here(): Error {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = depth
  const error = new Error('asked for')
  Error.stackTraceLimit = before
  return error
}

/**
 * The innermost frame of an error's stack that is neither this library's nor the gradients', as its
 * source has it: `swiglu (src/models/layers.ts:56:12)`. Where a program comes without its source
 * maps, the innermost frame as it stands there.
 */
export function callerOutside(error: Error): string {
  const frames = (error.stack ?? '').split('\n').flatMap(frameOf)
  for (const frame of frames) {
    const origin = inSource(frame)
    if (!ownFrames.test(origin.file)) return told(origin)
  }
  return frames.length > 0 ? told(frames[0]) : ''
}

/** Of a line of a stack; none of one that names no place in a file. */
function frameOf(line: string): Frame[] {
  const [, name = '', file = '', row, column] =
    /^\s+at (?:(.*) \()?(.*):(\d+):(\d+)\)?$/.exec(line) ?? []
  if (file === '' || file.startsWith('node:')) return []
  return [{ name, file: file.replace('file://', ''), line: Number(row), column: Number(column) }]
}

/** The frame in the file that its own was made of, where a map says so. */
function inSource(frame: Frame): Frame {
  const path = `${frame.file}.map`
  try {
    const map = new SourceMap(JSON.parse(readFileSync(path, 'utf8')))
    const found = map.findEntry(frame.line - 1, frame.column - 1)
    if (!('originalSource' in found)) return frame
    const file = new URL(found.originalSource, `file://${path}`).pathname
    return { ...frame, file, line: found.originalLine + 1, column: found.originalColumn + 1 }
  } catch {
    // No map that can be read: an error's message outweighs how well it is placed.
    return frame
  }
}

function told({ name, file, line, column }: Frame): string {
  const place = `${file.replace(/^.*[/\\](?=(src|test|dist|build)[/\\])/, '')}:${line}:${column}`
  return name === '' ? place : `${name} (${place})`
}
