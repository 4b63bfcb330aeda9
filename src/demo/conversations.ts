/** The demo's own text: small questions with answers that can be foretold, drawn by a seed. */
import type { Random } from '../clock.ts'
import { pick, upTo, whole } from './draw.ts'
import type { Exchange, Theme } from './themes.ts'
import { tokensOf } from './tokens.ts'

/** What the demo's target is trained on; no conversation is longer. */
export const demoTokensMax = 256

/** Conversations of one to four exchanges, no two the same. The same draws give the same ones. */
export function* conversations(
  random: Random,
  themes: readonly Theme[],
): Generator<readonly Exchange[], never> {
  const seen = new Set<string>()
  for (;;) {
    const exchanges = upTo(1, whole(random, 1, 4)).map(() => pick(random, themes)(random))
    const text = JSON.stringify(exchanges)
    if (seen.has(text) || tokensOf(exchanges).ids.length > demoTokensMax) continue
    seen.add(text)
    yield exchanges
  }
}
