/**
 * The server as a process of its own, so that tests may kill everything else around it. Its keys
 * come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. It prints one JSON line with its endpoint,
 * answers each JSON line on stdin with one, and ends when stdin does. With --cert and --key, files
 * in PEM, it speaks TLS.
 *
 *     {"faults": [ … ]}   takes the place of what faults are left; answered by {"faults": <count>}
 *     {"stats": true}     answered by {"stats": { … }}
 *     {"anew": true}      as "stats"; from now on the peak is that of what is open after this
 *     {"away": true}      nobody listens any more, until {"away": false}; answered the same
 *     {"secrets": { … }}   adds access keys, each with its secret; answered by how many there are
 *     {"left": true}      answered by {"left": [ … ]}: how often each fault may still be used
 */
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { faultSchema } from './faults.ts'
import { startDevS3 } from './server.ts'

const lineSchema = z.union([
  z.object({ faults: z.array(faultSchema) }),
  z.object({ stats: z.literal(true) }),
  z.object({ anew: z.literal(true) }),
  z.object({ left: z.literal(true) }),
  z.object({ away: z.boolean() }),
  z.object({ secrets: z.record(z.string(), z.string()) }),
])

const usage = `Usage: node dist/src/dev-s3/main.js [options]

An S3 server on 127.0.0.1, for tests and trials. Its keys come from AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY. It ends with its input: on a terminal at Ctrl-D.

  --port <n>        where it listens (default: one that is free)
  --bucket <name>   that it has; may be given several times (default: draftsmith)
  --dir <folder>    where the objects lie, from start to start; else in memory
  --cert <file>     in PEM, with --key: it speaks TLS
  --key <file>
  --help
`

const options = {
  dir: { type: 'string' },
  port: { type: 'string', default: '0' },
  bucket: { type: 'string', multiple: true, default: ['draftsmith'] as string[] },
  cert: { type: 'string' },
  key: { type: 'string' },
  help: { type: 'boolean' },
} as const

function settings() {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    // What is wrong with the arguments is said in its first sentence.
    process.stderr.write(`dev-s3: ${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

const values = settings()
if (values.help) {
  process.stdout.write(usage)
  process.exit(0)
}
const server = await startDevS3({
  ...(values.dir !== undefined && { dir: values.dir }),
  ...(values.cert !== undefined && {
    tls: { cert: readFileSync(values.cert, 'utf8'), key: readFileSync(values.key ?? '', 'utf8') },
  }),
  port: Number(values.port),
  buckets: values.bucket,
  accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? '',
  secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? '',
})
const { endpoint, port } = server
print({ endpoint, port, ends: 'with its input; on a terminal at Ctrl-D' })

for await (const line of createInterface({ input: process.stdin })) {
  const asked = lineSchema.parse(JSON.parse(line))
  if ('stats' in asked) {
    print({ stats: server.stats })
  } else if ('anew' in asked) {
    print({ stats: server.stats })
    server.stats.peak = server.stats.open
  } else if ('away' in asked) {
    await (asked.away ? server.leave() : server.comeBack())
    print(asked)
  } else if ('secrets' in asked) {
    for (const [id, secret] of Object.entries(asked.secrets)) server.secrets.set(id, secret)
    print({ secrets: server.secrets.size })
  } else if ('left' in asked) {
    print({ left: server.faults.map(({ times }) => times) })
  } else {
    server.faults.splice(0, Infinity, ...asked.faults)
    print({ faults: server.faults.length })
  }
}
await server.close()

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
