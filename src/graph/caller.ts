/** Who called: for messages about a graph that was built wrongly. */

/** Of the folders whose frames say how a node came about, and not who wanted it. */
const ownFrames = /(?<!test[/\\])src[/\\](graph|autodiff)[/\\]/

/**
 * The innermost frame of an error's stack that is neither this library's nor the gradients':
 * `swiglu (src/models/layers.ts:56:12)`. Of a bundled program, the place in the bundle.
 */
export function callerOutside(error: Error): string {
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  const caller = frames.find((line) => !ownFrames.test(line)) ?? frames[0] ?? ''
  return caller
    .trim()
    .replace(/^at /, '')
    .replace(/file:\/\/|[^\s(]*[/\\](?=(src|test|dist|build)[/\\])/g, '')
}
