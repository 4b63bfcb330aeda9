import { pipeline, Readable, Transform, type TransformCallback } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'

/** A listing's page of a thousand keys of the greatest length is a tenth of this. */
const answerBytesMax = 16 << 20

/**
 * What is no object's bytes is gathered in memory before it is understood: listings, errors. One
 * without an end (a broken proxy, a wrong port) would fill it before its deadline.
 */
export function limitAnswers(client: S3Client): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args)
        const { response } = result
        if (isAnswer(response)) {
          const isObject = commandName === 'GetObjectCommand' && response.statusCode < 300
          if (!isObject) response.body = limited(response.body)
        }
        return result
      },
    { step: 'deserialize', priority: 'low', name: 'limitAnswers' },
  )
}

function limited(body: Readable): Readable {
  let bytes = 0
  const count = new Transform({
    transform: (chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) => {
      bytes += chunk.length
      if (bytes <= answerBytesMax) done(null, chunk)
      else done(tooLong())
    },
  })
  // Its end, good or bad, is seen by whoever reads what comes out.
  return pipeline(body, count, () => undefined)
}

/** A plain error: the SDK writes into the message of whatever it catches. */
const tooLong = (): Error =>
  Object.assign(new Error(`bytes=${answerBytesMax} or more`), { code: 'ANSWER_WITHOUT_END' })

function isAnswer(response: unknown): response is { statusCode: number; body: Readable } {
  return (
    typeof response === 'object' &&
    response !== null &&
    'statusCode' in response &&
    'body' in response &&
    response.body instanceof Readable
  )
}
