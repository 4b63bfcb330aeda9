import { actor } from '../../protocol/lifecycle.ts'
import { realSurroundings } from '../../src/surroundings.ts'
import { begin } from './begin.ts'
import type { ExtractorInput } from './index.ts'
import { loadModel } from './model.ts'

await begin(actor<ExtractorInput>(), { ...realSurroundings, loadModel })
