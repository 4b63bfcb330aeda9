import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBytes, parseBytes } from '../../../src/config/sizes.ts'

test('sizes: decimal without the i, binary with it, in either case', () => {
  const cases: [string, number][] = [
    ['150GB', 150e9],
    ['64 MiB', 64 * 2 ** 20],
    ['1073741824', 2 ** 30],
    ['1.5tb', 1.5e12],
    [' 2KiB ', 2048],
    ['7B', 7],
    ['0', 0],
  ]
  for (const [text, bytes] of cases) assert.equal(parseBytes(text), bytes, text)
})

test('sizes: what is no size is none', () => {
  for (const text of ['', 'GB', '-1', '1e9', '1 000', '5 giga', '5GBs', '1,5GB', 'Infinity']) {
    assert.equal(parseBytes(text), undefined, text)
  }
})

test('sizes: shown in three digits at most, and never as 1000 of a unit', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [999_499, '999 kB'],
    [999_600, '1.0 MB'],
    [1_100_000, '1.1 MB'],
    [99_440_000, '99.4 MB'],
    [99_960_000, '100 MB'],
    [950e9, '950 GB'],
    [3e18, '3000 PB'],
  ]
  for (const [bytes, text] of cases) assert.equal(formatBytes(bytes), text)
})
