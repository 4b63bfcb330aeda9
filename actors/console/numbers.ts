/** Numbers as people read them. */

const numbers = new Intl.NumberFormat('en-US')
export const count = (value: number): string => numbers.format(value)

/** `1 file`, `2 files`. */
export const many = (value: number, one: string, more = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : more}`

export const perSecond = (value: number): string =>
  value >= 100 ? count(Math.round(value)) : value.toFixed(1)

/** `1:02:03` or `02:03`; `?` where it is not known. */
export function eta(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return '?'
  const whole = Math.max(0, Math.round(seconds))
  const two = (value: number) => String(value).padStart(2, '0')
  const hours = Math.floor(whole / 3600)
  const minutes = two(Math.floor(whole / 60) % 60)
  return `${hours > 0 ? `${hours}:` : ''}${minutes}:${two(whole % 60)}`
}
