/**
 * Where a bucket is, asked of the SDK itself: the endpoint from options, environment or profile,
 * path style or a host for each bucket, the region that is signed for. So what is sent beside the
 * SDK goes where the SDK would send it.
 */
import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'

export interface S3Address {
  readonly secure: boolean
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string
  readonly port?: number
  /** As the Host header names it. */
  readonly host: string
  /** Encoded; ends with a slash. An object's path is this and its encoded key. */
  readonly path: string
  /** That the signature names. */
  readonly region: string
}

const KEY = 'key'

/**
 * Undefined where the SDK signs otherwise than with plain version 4 for S3 (directory buckets,
 * access points of many regions): such a bucket is spoken to through the SDK alone.
 *
 * @throws what the SDK throws where an endpoint or a region is missing or wrong; asks nobody
 */
export async function addressOf(client: S3Client, bucket: string): Promise<S3Address | undefined> {
  const command = new PutObjectCommand({ Bucket: bucket, Key: KEY, Body: '' })
  let found: S3Address | undefined
  // The request is complete but for its signature when this takes it: it is never sent.
  command.middlewareStack.add(
    (_, context) => async (args) => {
      const scheme: unknown = context.endpointV2?.properties?.authSchemes
      found = address(args.request, plainRegion(scheme))
      return { response: {}, output: { $metadata: {} } }
    },
    { step: 'build', priority: 'high', name: 'takeAddress' },
  )
  await client.send(command)
  return found
}

function plainRegion(schemes: unknown): string | undefined {
  if (!Array.isArray(schemes)) return undefined
  const [scheme]: unknown[] = schemes
  if (field(scheme, 'name') !== 'sigv4' || field(scheme, 'signingName') !== 's3') return undefined
  const region = field(scheme, 'signingRegion')
  return typeof region === 'string' ? region : undefined
}

function address(request: unknown, region: string | undefined): S3Address | undefined {
  const hostname = field(request, 'hostname')
  const path = field(request, 'path')
  const port = field(request, 'port')
  if (typeof hostname !== 'string' || typeof path !== 'string' || !path.endsWith(`/${KEY}`)) {
    return undefined
  }
  if (region === undefined) return undefined
  return {
    secure: field(request, 'protocol') === 'https:',
    hostname: hostname.replace(/^\[|\]$/g, ''),
    ...(typeof port === 'number' && { port }),
    host: typeof port === 'number' ? `${hostname}:${port}` : hostname,
    path: path.slice(0, -KEY.length),
    region,
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
