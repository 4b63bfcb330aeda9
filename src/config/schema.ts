import { z } from 'zod'
import { bytes, count, device } from './fields.ts'
import { train } from './train-schema.ts'

/** The configuration, key by key. Sections that this version does not act on are accepted whole. */

const hasCredentials = (url: string): boolean => /^[a-z0-9+.-]+:\/\/[^/]*@/i.test(url)
const awsChain = 'want=the AWS chain (variables, profile, role)'

/** The system ends a path at its first NUL. */
const path = z
  .string()
  .min(1)
  .refine((text) => !text.includes('\0'), { error: 'no path: it has a NUL' })

const s3 = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/, error: 'no endpoint. want=http(s)://host[:port]' })
    .refine((url) => !hasCredentials(url), { error: `credentials in an endpoint. ${awsChain}` })
    .optional(),
  region: z.string().min(1).optional(),
  pathStyle: z.boolean().default(true),
  checksums: z.enum(['when-required', 'when-supported']).default('when-supported'),
})

const dataset = z.strictObject({
  path,
  split: z.string().min(1).optional(),
  columns: z
    .strictObject({
      inputIds: z.string().min(1).default('input_ids'),
      lossMask: z.string().min(1).nullable().default('loss_mask'),
      seqLen: z.string().min(1).nullable().default('seq_len'),
    })
    .prefault({}),
})

const target = z.strictObject({
  path,
  layers: z
    .union([z.literal('auto'), z.array(z.number().int().nonnegative()).min(1)], {
      error: 'no layers. want=auto, or a list such as [1, 9, 17, 25, 33]',
    })
    .default('auto'),
  captureFinal: z.boolean().default(false),
})

const extract = z.strictObject({
  devices: z.array(device).min(1).default(['cpu']),
  engine: z.literal('onnxruntime').default('onnxruntime'),
  tokenBudget: count.default(16_384),
  maxTokens: count.default(8192),
  dtype: z.enum(['bf16', 'f16', 'f32']).default('bf16'),
  isolation: z.enum(['thread', 'process']).default('thread'),
  limit: count.nullable().default(null),
})

/** Requests to the store at once. */
export const maxParallel = count.max(10_000)

const upload = z.strictObject({
  maxParallel: maxParallel.default(100),
  /** Null: as many as suit the machine. */
  threads: count.max(64).nullable().default(null),
  attempts: count.max(1000).default(10),
  deadlineMinutes: z.number().positive().default(30),
})

const commit = z.strictObject({
  every: count.default(1000),
  seconds: z.number().positive().max(86_400).default(10),
})

const spool = z.strictObject({
  keepFree: bytes.prefault('20GB'),
  maxBytes: bytes.prefault('100GB'),
})

/** A machine that is taken away tells so before: in a file, or to who asks. */
const preemption = z
  .strictObject({
    file: path.optional(),
    url: z.url({ protocol: /^https?$/, error: 'no URL. want=http(s)://…' }).optional(),
    everySeconds: z.number().min(1).max(3600).default(5),
    /** From the notice to the machine's end, where the notice does not say. */
    noticeSeconds: z.number().min(1).max(86_400).default(120),
  })
  .refine(({ file, url }) => (file === undefined) !== (url === undefined), {
    error: 'where from? want=one of file and url',
  })

export const configSchema = z.strictObject({
  store: z
    .string()
    .regex(/^(s3|file):\/\//, 'no store. want=s3://bucket/prefix or file:///path')
    .refine((url) => !hasCredentials(url), { error: `credentials in a store's URL. ${awsChain}` }),
  s3: s3.prefault({}),
  work: path.default('./work'),
  dataset,
  target,
  extract: extract.prefault({}),
  upload: upload.prefault({}),
  commit: commit.prefault({}),
  spool: spool.prefault({}),
  train: train.optional(),
  preemption: preemption.optional(),
  monitor: z.strictObject({ port: count.optional(), host: z.string().optional() }).optional(),
  notify: z.strictObject({ url: z.string().nullable().optional() }).optional(),
  cluster: z.strictObject({ url: z.string().nullable().optional() }).optional(),
})

export type Config = z.output<typeof configSchema>
export type PreemptionConfig = NonNullable<Config['preemption']>
export type S3Config = Config['s3']

/** Sections that are accepted, and not acted on by this version. */
export const sectionsNotBuilt = ['monitor', 'notify', 'cluster'] as const
