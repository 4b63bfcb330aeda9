const hook = Symbol.for('draftsmith.probe')

/**
 * Names a moment that crash tests and drills stop or kill at. Does nothing unless a module loaded
 * before the program has put a function under this symbol.
 */
export function probe(moment: string): void {
  const stop = (globalThis as { [hook]?: (moment: string) => void })[hook]
  stop?.(moment)
}
