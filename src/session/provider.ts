/** Which execution provider a device means to onnxruntime; and, where it cannot be had, why not. */
import type { InferenceSession } from 'onnxruntime-node'
import { Failure } from '../failure.ts'

/**
 * @param device  `cpu`, `webgpu`, `cuda` (the first one) or `cuda:N`
 * @throws        Failure `invalid`: no such kind of device
 */
export function providerOf(device: string): InferenceSession.ExecutionProviderConfig {
  if (device === 'cpu') return { name: 'cpu' }
  if (device === 'webgpu') return { name: 'webgpu' }
  const cuda = /^cuda(?::(\d+))?$/.exec(device)
  if (cuda) return { name: 'cuda', deviceId: Number(cuda[1] ?? 0) }
  throw new Failure('invalid', `unknown device. want=cpu, webgpu or cuda:N, found=${device}`, {
    remedy: 'Name devices as cpu, webgpu, cuda:0, cuda:1, …',
  })
}

/** A provider that is known and cannot be had here. */
export const providerUnavailable = (device: string, cause: unknown): Failure =>
  new Failure('invalid', `device cannot be used. device=${device}`, {
    remedy:
      device === 'webgpu'
        ? 'Install a driver of the graphics device (on Linux one of Vulkan); or compute on cpu.'
        : 'Install its provider with `npm run install:cuda` and its driver; or compute on cpu.',
    cause,
  })
