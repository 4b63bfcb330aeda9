/** Where the demo's target and its text lie: beside the program, in a checkout and in a package. */
import { fileURLToPath } from 'node:url'

export const demoAssets = fileURLToPath(new URL('../../../src/demo/assets', import.meta.url))
