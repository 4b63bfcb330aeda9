/** `checkpoints/latest.json`: which one was saved last. A hint: what it says is looked up. */
import { z } from 'zod'
import { putBytes } from '../store/put-confirmed.ts'
import type { ObjectStore } from '../store/store.ts'
import { isFolderName, latestKey } from './names.ts'

const hintSchema = z.object({
  name: z.string().refine(isFolderName),
  training: z.string(),
  step: z.number(),
  savedAt: z.string(),
})

export type Hint = z.output<typeof hintSchema>

/** Undefined where there is none, or none that can be read: nothing depends on it. */
export async function readHint(store: ObjectStore): Promise<Hint | undefined> {
  const bytes = await store.get(latestKey)
  if (!bytes) return undefined
  try {
    return hintSchema.safeParse(JSON.parse(bytes.toString('utf8'))).data
  } catch {
    return undefined
  }
}

export async function writeHint(store: ObjectStore, hint: Hint): Promise<void> {
  await putBytes(store, latestKey, Buffer.from(`${JSON.stringify(hint, null, 1)}\n`))
}
