import { actor } from '../../protocol/lifecycle.ts'
import { realSurroundings } from '../../src/surroundings.ts'
import { begin } from './begin.ts'
import type { UploaderInput } from './index.ts'

await begin(actor<UploaderInput>(), realSurroundings)
