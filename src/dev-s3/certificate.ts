/**
 * A certificate of the server's own, for its TLS: made anew at each start, valid for 127.0.0.1 and
 * localhost, signed by itself. Whoever is to trust it is told so (NODE_EXTRA_CA_CERTS). Node reads
 * certificates and makes none, so the few fields of X.509 are written here.
 *
 * @source  RFC 5280, section 4.1; ITU-T X.690 for the encoding
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export interface Certificate {
  /** Both in PEM. */
  readonly cert: string
  readonly key: string
}

const DAY_MS = 24 * 60 * 60_000

const tag = {
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  text: 0x0c,
  time: 0x17,
  sequence: 0x30,
  set: 0x31,
  /** Of a choice: a DNS name, an IP address. */
  dns: 0x82,
  ip: 0x87,
  version: 0xa0,
  extensions: 0xa3,
} as const

/** Object identifiers, encoded: what a field is. */
const oid = {
  ecdsaWithSha256: '2a8648ce3d040302',
  commonName: '550403',
  alternativeNames: '551d11',
  basicConstraints: '551d13',
} as const

export function selfMadeCertificate(now = Date.now()): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(tag.sequence, named(oid.ecdsaWithSha256))
  const name = der(
    tag.sequence,
    der(tag.set, der(tag.sequence, named(oid.commonName), der(tag.text, Buffer.from('dev-s3')))),
  )
  // A day before, for clocks that differ; a month after, which no test outlives.
  const validity = der(tag.sequence, time(now - DAY_MS), time(now + 30 * DAY_MS))
  // Positive, and never twice the same: clients refuse two certificates of one number.
  const serial = Buffer.concat([Buffer.of(0x01), randomBytes(15)])
  const body = der(
    tag.sequence,
    der(tag.version, der(tag.integer, Buffer.of(2))),
    der(tag.integer, serial),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(tag.extensions, der(tag.sequence, alternativeNames(), authority())),
  )
  const signature = sign('sha256', body, privateKey)
  const whole = der(tag.sequence, body, algorithm, bits(signature))
  return {
    cert: pem(whole),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const alternativeNames = (): Buffer =>
  extension(
    oid.alternativeNames,
    der(tag.sequence, der(tag.dns, Buffer.from('localhost')), der(tag.ip, Buffer.of(127, 0, 0, 1))),
  )

/** It may sign certificates: its own. Not every client trusts one that may not. */
const authority = (): Buffer =>
  extension(oid.basicConstraints, der(tag.sequence, Buffer.of(0x01, 0x01, 0xff)))

const extension = (id: string, value: Buffer): Buffer =>
  der(tag.sequence, named(id), der(tag.octets, value))

const named = (id: string): Buffer => der(tag.oid, Buffer.from(id, 'hex'))

const bits = (bytes: Buffer): Buffer => der(tag.bits, Buffer.of(0), bytes)

/** `YYMMDDhhmmssZ`. */
const time = (at: number): Buffer =>
  der(tag.time, Buffer.from(`${new Date(at).toISOString().replace(/\D/g, '').slice(2, 14)}Z`))

/** One element: tag, length, content. */
function der(type: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.of(type, length), content])
  const size = length < 0x100 ? Buffer.of(length) : Buffer.of(length >> 8, length & 0xff)
  return Buffer.concat([Buffer.of(type, 0x80 | size.length), size, content])
}

const pem = (bytes: Buffer): string => {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
