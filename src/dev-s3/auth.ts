/**
 * Signature version 4 in the Authorization header, verified as S3 does:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Refusal } from './answer.ts'

const SKEW_MS_MAX = 15 * 60_000
const credential = /Credential=(?<id>[^/]+)\/(?<date>\d{8})\/(?<region>[^/]+)\/s3\/aws4_request/
const signedHeaders = /SignedHeaders=(?<headers>[^,]+)/
const signed = /Signature=(?<signature>[0-9a-f]{64})/
const pattern = new RegExp(
  `^AWS4-HMAC-SHA256 ${credential.source}, ?${signedHeaders.source}, ?${signed.source}$`,
)

/** The access key that a request names, whether or not it proves to hold it. */
export const accessKeyOf = (request: IncomingMessage): string =>
  pattern.exec(request.headers.authorization ?? '')?.groups?.id ?? ''

/** Throws a Refusal 403 unless the request is signed, now, with a key of `secrets`. */
export function verifySignature(
  request: IncomingMessage,
  secrets: ReadonlyMap<string, string>,
): void {
  const parts = pattern.exec(request.headers.authorization ?? '')?.groups
  if (!parts) throw new Refusal(403, 'AccessDenied')
  const { id = '', date = '', region = '', headers = '', signature = '' } = parts
  const secret = secrets.get(id)
  if (secret === undefined) throw new Refusal(403, 'InvalidAccessKeyId')
  const sentAt = String(request.headers['x-amz-date'])
  if (Math.abs(Date.now() - timeOf(sentAt)) > SKEW_MS_MAX) {
    throw new Refusal(403, 'RequestTimeTooSkewed')
  }
  const scope = `${date}/${region}/s3/aws4_request`
  const hashed = sha256(canonicalRequest(request, headers.split(';')))
  const toSign = ['AWS4-HMAC-SHA256', sentAt, scope, hashed].join('\n')
  const key = [date, region, 's3', 'aws4_request'].reduce<Buffer>(
    hmac,
    Buffer.from(`AWS4${secret}`),
  )
  const want = hmac(key, toSign)
  if (!timingSafeEqual(want, Buffer.from(signature, 'hex'))) {
    throw new Refusal(403, 'SignatureDoesNotMatch')
  }
}

function canonicalRequest(request: IncomingMessage, signed: readonly string[]): string {
  const [path = '', query = ''] = (request.url ?? '').split('?', 2)
  const fields = query.split('&').filter((field) => field !== '')
  const sorted = fields.map((field) => (field.includes('=') ? field : `${field}=`)).sort()
  const lines = signed.map((name) => {
    const value = String(request.headers[name] ?? '')
    return `${name}:${value.trim().replace(/ +/g, ' ')}\n`
  })
  return [
    request.method,
    path,
    sorted.join('&'),
    lines.join(''),
    signed.join(';'),
    String(request.headers['x-amz-content-sha256']),
  ].join('\n')
}

/** `20260201T101112Z`, in milliseconds since the epoch. */
function timeOf(stamp: string): number {
  const spread = stamp.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5')
  return Date.parse(spread)
}

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
