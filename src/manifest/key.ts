/**
 * Keys of sample objects. A key is made of what a file holds, so that the same sample computed
 * twice lands on the same object, and two files that differ never share one.
 */

const prefix = 'hidden-states/'
const hashPattern = /^[0-9a-f]{32}$/
const keyPattern = /^hidden-states\/([0-9a-f]{2})\/(\1[0-9a-f]{30})-([0-9a-f]{8})\.safetensors$/
const keyLengthMax = 1024

export const isSampleHash = (text: string): boolean => hashPattern.test(text)

/** A CRC-32 as keys and file names spell it: 8 hexadecimal digits. */
export const crcText = (crc32: number): string => crc32.toString(16).padStart(8, '0')

/** `hidden-states/ab/ab…-<crc32>.safetensors`: where a sample's own object lies. */
export const sampleKey = (hash: string, crc32: number): string =>
  `${prefix}${hash.slice(0, 2)}/${hash}-${crcText(crc32)}.safetensors`

/** What a canonical key says of its object; undefined for any other text. */
export function parseSampleKey(
  key: string,
): { readonly hash: string; readonly crc32: number } | undefined {
  const match = keyPattern.exec(key)
  if (!match?.[2] || !match[3]) return undefined
  return { hash: match[2], crc32: Number.parseInt(match[3], 16) }
}

/**
 * Whether a key read from a manifest may be asked of the store: under `hidden-states/`, of plain
 * characters, with no part that climbs. Canonical keys are; so will be those of packed objects.
 */
export const isObjectKey = (key: string): boolean =>
  key.length <= keyLengthMax &&
  key.startsWith(prefix) &&
  key.split('/').every((part) => /^[A-Za-z0-9._-]+$/.test(part) && !/^\.\.?$/.test(part))
