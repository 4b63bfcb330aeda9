/**
 * TypeScript taken apart just far enough to ask questions of it: code, comments, string literals.
 * A parser would know more, but TypeScript offers none to programs since it became native.
 */

export interface Lexed {
  /** The text with comments and the insides of literals blanked: same length, same lines. */
  readonly code: string
  /** The text with all but comments blanked. */
  readonly comments: string
  readonly strings: readonly StringLiteral[]
}

export interface StringLiteral {
  readonly value: string
  /** Of the opening quote, in the text. */
  readonly at: number
}

const afterWhichRegexStarts = /(?:^|[([{,;:=!&|?+\-*%<>~^]|\b(?:return|typeof|case|of|in))\s*$/

const patterns = {
  plainCode: /[^'"`/{}]+/y,
  lineComment: /\/\/.*/y,
  blockComment: /\/\*[\s\S]*?\*\//y,
  string: /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y,
  regex: /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*/y,
  templateText: /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*(?:`|\$\{)/y,
}

export function lex(text: string): Lexed {
  const code: string[] = []
  const comments: string[] = []
  const strings: StringLiteral[] = []
  /** One entry for each open template hole: how many braces are open within it. */
  const holes: number[] = []
  let at = 0

  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(text)?.[0]
  }
  const take = (piece: string, kind: 'code' | 'comment' | 'literal' | 'text'): void => {
    code.push(kind === 'code' ? piece : kind === 'literal' ? hollow(piece) : blank(piece))
    comments.push(kind === 'comment' ? piece : blank(piece))
    at += piece.length
  }
  const takeTemplate = (): void => {
    const piece = match(patterns.templateText) ?? text.slice(at)
    const opensHole = piece.endsWith('${')
    if (opensHole) holes.push(0)
    const delimiter = opensHole ? 2 : 1
    take(piece.slice(0, -delimiter), 'text')
    take(piece.slice(-delimiter), 'code')
  }

  while (at < text.length) {
    const comment = match(patterns.lineComment) ?? match(patterns.blockComment)
    const string = comment ?? match(patterns.string)
    const before = code.slice(-3).join('').slice(-40)
    const startsRegex = text[at] === '/' && afterWhichRegexStarts.test(before)
    const regex = startsRegex ? match(patterns.regex) : undefined
    const open = holes.at(-1)
    if (comment !== undefined) take(comment, 'comment')
    else if (string !== undefined) {
      strings.push({ value: string.slice(1, -1), at })
      take(string, 'literal')
    } else if (regex !== undefined) take(regex, 'literal')
    else if (text[at] === '`') {
      take('`', 'code')
      takeTemplate()
    } else if (text[at] === '}' && open === 0) {
      holes.pop()
      take('}', 'code')
      takeTemplate()
    } else {
      if (open !== undefined && text[at] === '{') holes[holes.length - 1] = open + 1
      if (open !== undefined && text[at] === '}') holes[holes.length - 1] = open - 1
      take(match(patterns.plainCode) ?? text.charAt(at), 'code')
    }
  }
  return { code: code.join(''), comments: comments.join(''), strings }
}

const blank = (piece: string): string => piece.replace(/[^\n]/g, ' ')

/** The insides blanked, the delimiters kept, so that code still shows where a literal stands. */
const hollow = (piece: string): string =>
  piece.length < 2 ? piece : `${piece[0]}${blank(piece.slice(1, -1))}${piece.at(-1)}`
