/** Kinds of field that several sections of the configuration have. */
import { z } from 'zod'
import { parseBytes } from './sizes.ts'

const noSize = 'no size. want=such as 150GB or 64MiB'
/** As people write sizes: in bytes when parsed. */
export const bytes = z
  .union([z.number(), z.string()], { error: noSize })
  .transform((value, context) => {
    const parsed = parseBytes(String(value))
    if (parsed !== undefined) return parsed
    context.addIssue({ code: 'custom', message: noSize })
    return z.NEVER
  })

export const count = z.number().int().positive()

export const device = z
  .string()
  .regex(/^(cpu|cuda(:\d+)?)$/, 'no device. want=cpu, cuda:0, cuda:1, …')

/** Where a drafter is trained. */
export const trainingDevice = z
  .string()
  .regex(/^(cpu|webgpu|cuda(:\d+)?)$/, 'no device. want=cpu, webgpu, cuda:0, cuda:1, …')
