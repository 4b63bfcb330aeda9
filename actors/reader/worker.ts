import { actor } from '../../protocol/lifecycle.ts'
import { openDataset } from '../../src/dataset/shards.ts'
import { realSurroundings } from '../../src/surroundings.ts'
import { begin } from './begin.ts'
import type { ReaderInput } from './index.ts'

await begin(actor<ReaderInput>(), { ...realSurroundings, openDataset })
