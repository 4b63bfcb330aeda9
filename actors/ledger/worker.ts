import { actor } from '../../protocol/lifecycle.ts'
import { realSurroundings } from '../../src/surroundings.ts'
import { begin } from './begin.ts'
import type { LedgerInput } from './index.ts'

await begin(actor<LedgerInput>(), realSurroundings)
