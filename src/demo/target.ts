/** The demo's target: a Qwen3 of 1.6 million parameters, trained by this project itself. */
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { demoAssets } from './assets.ts'

/** Lays its checkpoint out in `dir`. */
export async function writeDemoTarget(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true })
  // Last config.json: without it the directory is no checkpoint yet.
  for (const name of ['model.safetensors', 'config.json']) {
    await copyFile(join(demoAssets, name), join(dir, name))
  }
}
