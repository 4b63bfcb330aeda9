import { InvalidArgumentError } from 'commander'
import { parseBytes } from '../../src/config/sizes.ts'

/** What options are given, as what they mean. Each throws where a value is none of its own. */

export function whole(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give a whole number of 1 or more.')
}

export function wholeOrAll(text: string): number {
  if (text === 'all') return Number.MAX_SAFE_INTEGER
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give a whole number, or all.')
}

/** Of what is drawn by chance; 0 is one, too. */
export function seed(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give a whole number.')
}

export function step(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give the number of an optimizer step.')
}

/** Requests open at once. */
export function requests(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give a whole number from 1 to 999.')
}

export function temperature(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= 0 && value <= 100) return value
  throw new InvalidArgumentError('Give a number from 0 to 100.')
}

/** In bytes. */
export function size(text: string): number {
  const bytes = parseBytes(text)
  if (bytes !== undefined) return bytes
  throw new InvalidArgumentError('Give a size, such as 20GB.')
}

/** In milliseconds. */
export function hours(text: string): number {
  const match = /^(\d{1,6})([hd])$/.exec(text)
  if (!match) throw new InvalidArgumentError('Give hours or days, such as 24h or 7d.')
  return Number(match[1]) * (match[2] === 'd' ? 24 : 1) * 3_600_000
}
