/** Prompts of a file: a JSON object on each line, with the token ids in `input_ids`. */
import { open } from 'node:fs/promises'
import { z } from 'zod'
import { diskFailure } from '../disk-failure.ts'
import { Failure } from '../failure.ts'
import { boundedLines } from './bounded-lines.ts'

const lineSchema = z.object({ input_ids: z.array(z.int().nonnegative()).min(1) })

/** Some millions of ids. */
const lineBytesMax = 64 << 20

/** Which prompts are wanted of a file. */
export interface PromptsWanted {
  readonly vocabSize: number
  /** At most so many, from the first on. */
  readonly limit: number
}

/**
 * @param path  a JSONL file; blank lines are left out
 * @throws      Failure `invalid`: it cannot be read, a line is no such object, an id is not of the
 *              vocabulary, or there is no prompt at all. Names file and line
 */
export async function readPrompts(path: string, wanted: PromptsWanted): Promise<number[][]> {
  const prompts: number[][] = []
  let number = 0
  try {
    await using file = await open(path)
    const tooLong = (line: number) => lineTooLong(`file=${path}, line=${line}`)
    for await (const line of boundedLines(file, lineBytesMax, tooLong)) {
      number++
      // A byte order mark goes too.
      const text = line.trim()
      if (text === '') continue
      prompts.push(parse(text, `file=${path}, line=${number}`, wanted.vocabSize))
      if (prompts.length === wanted.limit) break
    }
  } catch (error) {
    throw diskFailure(error, { what: 'prompts cannot be read', path }, unreadable)
  }
  if (prompts.length > 0) return prompts
  throw new Failure('invalid', `no prompt in the file. file=${path}, lines=${number}`, { remedy })
}

const remedy = 'Write one {"input_ids": [...]} on each line.'
const unreadable = { full: remedy, refused: 'Name a file that is there and can be read.' }

const lineTooLong = (where: string): Failure =>
  new Failure('invalid', `a line is too long for a prompt. ${where}, max=${lineBytesMax} bytes`, {
    remedy,
  })

function parse(line: string, where: string, vocabSize: number): number[] {
  let ids: number[]
  try {
    ids = lineSchema.parse(JSON.parse(line)).input_ids
  } catch (error) {
    const cause = error instanceof z.ZodError ? new Error(firstOf(error)) : error
    throw new Failure('invalid', `a line holds no prompt. ${where}`, { remedy, cause })
  }
  const outside = ids.find((id) => id >= vocabSize)
  if (outside === undefined) return ids
  const facts = `${where}, want=ids below ${vocabSize}, found=${outside}`
  throw new Failure('invalid', `a prompt has a token that the target lacks. ${facts}`, {
    remedy: "Tokenize the prompts with the target's own tokenizer.",
  })
}

/** Each of many ids may be wrong. */
function firstOf({ issues }: z.ZodError): string {
  const first = z.prettifyError({ issues: issues.slice(0, 1) })
  return issues.length === 1 ? first : `${issues.length} faults, the first: ${first}`
}
