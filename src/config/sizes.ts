/**
 * Sizes in bytes as people write them: `150GB`, `64 MiB`, `1073741824`. Decimal without the `i`.
 */

const units: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** @returns whole bytes, or undefined where the text is no size */
export function parseBytes(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text)
  if (!match) return undefined
  const unit = units[match[2].toLowerCase()]
  if (unit === undefined) return undefined
  return Math.round(Number(match[1]) * unit)
}

/** @returns `1.1 MB`: three digits at most, decimal units */
export function formatBytes(bytes: number): string {
  const names = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < names.length - 1) {
    value /= 1000
    unit++
  }
  const digits = unit === 0 || value >= 99.5 ? 0 : 1
  return `${value.toFixed(digits)} ${names[unit]}`
}
