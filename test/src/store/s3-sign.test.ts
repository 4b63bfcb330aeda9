import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { seededRandom } from '../../../src/clock.ts'
import { encodeKey, Signer } from '../../../src/store/s3-sign.ts'

// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, “Examples”
const published = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}
const at = new Date('2013-05-24T00:00:00Z')
const host = 'examplebucket.s3.amazonaws.com'

test('s3 sign: the published examples come out, the day’s key made or kept', () => {
  const signer = new Signer('us-east-1')
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  const get = {
    method: 'GET',
    path: `/${encodeKey('test.txt')}`,
    headers: { host, range: 'bytes=0-9', 'x-amz-content-sha256': empty },
  }
  const put = {
    method: 'PUT',
    path: `/${encodeKey('test$file.text')}`,
    headers: {
      date: 'Fri, 24 May 2013 00:00:00 GMT',
      host,
      'x-amz-content-sha256': '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
      'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    },
  }
  assert.equal(
    signer.sign(get, published, at).authorization,
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
      'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, ' +
      'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  )
  assert.match(
    signer.sign(put, published, at).authorization ?? '',
    /Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd$/,
  )
  const other = { ...published, secretAccessKey: 'another' }
  assert.doesNotMatch(signer.sign(put, other, at).authorization ?? '', /98ad7217/)
})

interface Signed {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** What the SDK would send; it never does. */
async function signedBySdk(client: S3Client, key: string): Promise<Signed> {
  const command = new PutObjectCommand({ Bucket: 'bucket', Key: key, Body: 'x' })
  let found: Signed | undefined
  // It says in the query which operation it is, for nobody.
  command.middlewareStack.add(
    (next) => (args) => {
      Object.assign(args.request as object, { query: {} })
      return next(args)
    },
    { step: 'build', name: 'withoutQuery' },
  )
  command.middlewareStack.add(
    () => async (args) => {
      found = args.request as Signed
      return { response: {}, output: { $metadata: {} } }
    },
    { step: 'finalizeRequest', priority: 'low', name: 'take' },
  )
  await client.send(command)
  assert.ok(found)
  return found
}

const alphabet = [...'aZ09-_.~ +%&=?#:@!$\'()*,;[]{}|^`"<>é雪🌨\u0301']

function randomKey(random: () => number): string {
  const part = () =>
    Array.from({ length: 1 + Math.floor(random() * 12) }, () => {
      return alphabet[Math.floor(random() * alphabet.length)]
    }).join('')
  return Array.from({ length: 1 + Math.floor(random() * 3) }, part).join('/')
}

for (const sessionToken of [undefined, 'a/session+token==']) {
  const how = sessionToken ? 'of a session' : 'that last'
  test(`s3 sign: 200 random keys are signed as by the SDK, with keys ${how}`, async () => {
    const keys = { ...published, ...(sessionToken !== undefined && { sessionToken }) }
    const endpoint = 'http://127.0.0.1:9'
    const client = new S3Client({ endpoint, region: 'eu-west-1', credentials: keys })
    const signer = new Signer('eu-west-1')
    const random = seededRandom(11)
    for (let i = 0; i < 200; i++) {
      const key = randomKey(random)
      const theirs = await signedBySdk(client, key)
      const { authorization = '', 'x-amz-date': stamp = '' } = theirs.headers
      const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(';') ?? []
      // Those two the signer adds by itself.
      const own = names.filter((name) => !/^x-amz-(date|security-token)$/.test(name))
      const headers = Object.fromEntries(own.map((name) => [name, theirs.headers[name] ?? '']))
      const at = new Date(stamp.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'))
      const path = `/bucket/${encodeKey(key)}`
      const ours = signer.sign({ method: 'PUT', path, headers }, keys, at)
      assert.equal(path, theirs.path, key)
      assert.equal(ours['x-amz-security-token'], theirs.headers['x-amz-security-token'])
      assert.equal(ours.authorization, authorization, key)
    }
    client.destroy()
  })
}
