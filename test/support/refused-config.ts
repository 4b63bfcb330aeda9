import assert from 'node:assert/strict'
import { isFailure } from '../../src/failure.ts'

/** Where a configuration is said to lie: each message names it. */
export const configPath = 'there/config.json'

/** @returns  holds that a configuration is refused, in a message with all of these words */
export const refusedBy =
  (parse: (json: unknown, path: string) => unknown) =>
  (json: unknown, ...words: readonly string[]): void =>
    assert.throws(
      () => parse(json, configPath),
      (error) => {
        assert.ok(isFailure(error, 'invalid'), String(error))
        for (const word of [configPath, ...words]) {
          assert.ok(error.message.includes(word), `${error.message}: ${word}`)
        }
        return true
      },
    )
