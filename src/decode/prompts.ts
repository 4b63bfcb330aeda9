/** Prompts of a file: a JSON object on each line, with the token ids in `input_ids`. */
import { open } from 'node:fs/promises'
import { z } from 'zod'
import { Failure, hasCode } from '../failure.ts'

const lineSchema = z.object({ input_ids: z.array(z.int().nonnegative()).min(1) })

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
    for await (const line of file.readLines()) {
      number++
      if (line.trim() === '') continue
      prompts.push(parse(line, `file=${path}, line=${number}`, wanted.vocabSize))
      if (prompts.length === wanted.limit) break
    }
  } catch (cause) {
    if (!hasCode(cause, 'ENOENT', 'EISDIR', 'EACCES')) throw cause
    throw new Failure('invalid', `prompts cannot be read. file=${path}`, { cause })
  }
  if (prompts.length > 0) return prompts
  throw new Failure('invalid', `no prompt in the file. file=${path}, lines=${number}`, { remedy })
}

const remedy = 'Write one {"input_ids": [...]} on each line.'

function parse(line: string, where: string, vocabSize: number): number[] {
  let ids: number[]
  try {
    ids = lineSchema.parse(JSON.parse(line)).input_ids
  } catch (error) {
    const cause = error instanceof z.ZodError ? new Error(z.prettifyError(error)) : error
    throw new Failure('invalid', `a line holds no prompt. ${where}`, { remedy, cause })
  }
  const outside = ids.find((id) => id >= vocabSize)
  if (outside === undefined) return ids
  const facts = `${where}, want=ids below ${vocabSize}, found=${outside}`
  throw new Failure('invalid', `a prompt has a token that the target lacks. ${facts}`, {
    remedy: "Tokenize the prompts with the target's own tokenizer.",
  })
}
