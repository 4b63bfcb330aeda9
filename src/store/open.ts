/** A store's URL becomes a store. */
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure } from '../failure.ts'
import { FileStore } from './file.ts'
import { checkPrefix } from './keys.ts'
import type { S3Place } from './s3.ts'
import type { Credentials, S3Options } from './s3-connection.ts'
import type { ObjectStore } from './store.ts'

type Environment = Readonly<Record<string, string | undefined>>

const REMEDY = 'Write file:///path or s3://bucket/prefix.'

/**
 * @param url   `file:///path` or `s3://bucket/prefix`
 * @param env   where the credentials and the region are looked up first; absent: the AWS chain
 *              (environment, shared files, single sign-on, the machine's role) as it is
 * @throws      Failure `invalid`: the URL is neither. Nothing is asked of the store yet.
 */
export async function openStore(
  url: string,
  s3: S3Options = {},
  options: { readonly env?: Environment } = {},
): Promise<ObjectStore> {
  const parsed = parse(url)
  if (parsed.protocol === 'file:') return new FileStore(fileRoot(parsed, url))
  if (parsed.protocol !== 's3:') refuse(url, 'is neither file: nor s3:')
  refuseCredentials(s3.endpoint)
  const env = options.env ?? process.env
  // Some set a variable to nothing where they mean to take it away.
  const region = s3.region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION || defaultRegion(s3))
  const settings = { ...s3, ...(region !== undefined && { region }) }
  // Imported here, not above: the SDK takes a third of a second, and folders do without it.
  const { S3Store } = await import('./s3.ts')
  return new S3Store(s3Place(parsed, url), settings, options.env && credentialsIn(options.env))
}

function parse(url: string): URL {
  try {
    return new URL(url)
  } catch {
    refuse(url, 'is no URL')
  }
}

function fileRoot(parsed: URL, url: string): string {
  if (parsed.host !== '' || parsed.search !== '' || parsed.hash !== '') {
    refuse(url, 'has a host, a query or a fragment')
  }
  const path = decoded(url, () => fileURLToPath(parsed))
  if (path.includes('\0')) refuse(url, 'names a path with a NUL')
  if (!isAbsolute(path) || path === '/') refuse(url, 'names no folder')
  return path.replace(/\/+$/, '')
}

function s3Place(parsed: URL, url: string): S3Place {
  if (parsed.username !== '' || parsed.password !== '') {
    throw withCredentials('store URL')
  }
  if (parsed.host === '' || parsed.port !== '' || parsed.search !== '' || parsed.hash !== '') {
    refuse(url, 'names no bucket, or has a port, a query or a fragment')
  }
  const prefix = decoded(url, () => decodeURIComponent(parsed.pathname)).replace(/^\/+|\/+$/g, '')
  checkPrefix(prefix)
  return { bucket: parsed.host, prefix }
}

function decoded(url: string, decode: () => string): string {
  try {
    return decode()
  } catch {
    refuse(url, 'has a percent sign that stands for no character of a path')
  }
}

function refuseCredentials(endpoint = ''): void {
  if (/\/\/[^/]*@/.test(endpoint)) throw withCredentials('the endpoint')
}

const withCredentials = (what: string): Failure =>
  new Failure('invalid', `${what} carries credentials.`, {
    remedy: 'Give them in the environment or the AWS profile, never in the URL.',
  })

function refuse(url: string, wrong: string): never {
  // What may be a password stays out of the message.
  const shown = url.replace(/\/\/[^/@]*@/, '//…@')
  throw new Failure('invalid', `store URL ${wrong}. url=${shown}`, { remedy: REMEDY })
}

/** Stores with an endpoint of their own mostly have one region, whatever its name. */
const defaultRegion = (s3: S3Options): string | undefined =>
  s3.endpoint === undefined ? undefined : 'us-east-1'

/** Read anew at every reload, so that whoever changes the variables is heard. */
function credentialsIn(env: Environment): Credentials | undefined {
  if (!env.AWS_ACCESS_KEY_ID || !env.AWS_SECRET_ACCESS_KEY) return undefined
  return async () => ({
    accessKeyId: env.AWS_ACCESS_KEY_ID ?? '',
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY ?? '',
    ...(env.AWS_SESSION_TOKEN && { sessionToken: env.AWS_SESSION_TOKEN }),
  })
}
