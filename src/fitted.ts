const narrowest = 30

/**
 * Text broken between words, never before a `%`, and where it breaks itself, so that no line passes
 * `columns`; all lines after the first are indented. A word that is longer keeps a line for itself.
 */
export function fitted(text: string, columns: number, indent: string): string {
  const width = Math.max(columns - indent.length, narrowest)
  return text
    .split('\n')
    .flatMap((line) => brokenAt(line, width))
    .join(`\n${indent}`)
}

function brokenAt(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(/ (?!%)/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`
    } else {
      lines.push(word)
    }
  }
  return lines
}
