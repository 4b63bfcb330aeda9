/** The tokens that end a target's texts, as its checkpoint names them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Failure, hasCode } from '../failure.ts'

const id = z.int().nonnegative()
const schema = z.object({ eos_token_id: z.union([id, z.array(id)]).nullish() })

/** The first that names any is asked, as transformers does. */
const files = ['generation_config.json', 'config.json']

/**
 * @param dir  of a Hugging Face checkpoint
 * @returns    none where the checkpoint names none
 * @throws     Failure `invalid`: a file is there and cannot be read
 */
export async function stopTokensOf(dir: string): Promise<ReadonlySet<number>> {
  for (const name of files) {
    const ids = await stopTokensIn(join(dir, name))
    if (ids.length > 0) return new Set(ids)
  }
  return new Set()
}

async function stopTokensIn(path: string): Promise<readonly number[]> {
  try {
    const found = schema.parse(JSON.parse(await readFile(path, 'utf8'))).eos_token_id
    return [found ?? []].flat()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    const cause = error instanceof z.ZodError ? new Error(z.prettifyError(error)) : error
    throw new Failure('invalid', `stop tokens cannot be read. file=${path}`, { cause })
  }
}
