/** Chromium's Vulkan driver that computes on the processor: where it lies, and how it is chosen. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Names the folder of its libvk_swiftshader.so, libvulkan.so.1 and vk_swiftshader_icd.json. */
export const swiftShaderVariable = 'SWIFTSHADER_DIR'

/** Where browsers that bring it are installed. */
const usual = ['/usr/lib/chromium', '/usr/lib64/chromium-browser', '/opt/google/chrome']

const descriptor = 'vk_swiftshader_icd.json'

export function swiftShaderDir(): string | undefined {
  const named = process.env[swiftShaderVariable]
  const dirs = named === undefined ? usual : [named]
  return dirs.find((dir) => existsSync(join(dir, descriptor)))
}

/** The environment of a process that computes with it. */
export const withSwiftShader = (dir: string): NodeJS.ProcessEnv => ({
  ...process.env,
  VK_ICD_FILENAMES: join(dir, descriptor),
  LD_LIBRARY_PATH: [dir, process.env.LD_LIBRARY_PATH ?? ''].filter(Boolean).join(delimiter),
})

/** One that finds no driver, whatever the machine has. */
export const withoutVulkan = (): NodeJS.ProcessEnv => ({
  ...process.env,
  VK_ICD_FILENAMES: '/nowhere',
  VK_DRIVER_FILES: '/nowhere',
})
