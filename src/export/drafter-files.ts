/** The two files that a drafter is, as z-lab publishes them. */
import { encodeSafetensors, type TensorToWrite } from '../safetensors/write.ts'
import type { FileToWrite } from './folder.ts'

/** transformers refuses a file that does not say whose layout it has. */
const metadata = { format: 'pt' }

/**
 * For `writeFolder`: config.json comes last, so that a folder that has one is a drafter.
 *
 * @param config   as `drafterConfigJson` gives it, or a checkpoint's
 * @param tensors  its parameters by the names of z-lab's checkpoints, and maps of a vocabulary
 */
export const drafterFiles = (config: object, tensors: readonly TensorToWrite[]): FileToWrite[] => [
  { name: 'model.safetensors', parts: encodeSafetensors(tensors, metadata) },
  { name: 'config.json', parts: [Buffer.from(`${JSON.stringify(config, null, 2)}\n`)] },
]
