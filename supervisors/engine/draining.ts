/** A stop drains from the source: each after those that give it work. */

export interface Draining {
  readonly id: string
  /** Ids of others; never in a circle. */
  readonly drainsAfter: readonly string[]
  /** Settles when it holds nothing more, or its time is over. */
  drain(): Promise<void>
}

/** Settles when all have drained. */
export async function drainInOrder(all: readonly Draining[]): Promise<void> {
  const byId = new Map(all.map((one) => [one.id, one]))
  const begun = new Map<string, Promise<void>>()
  const drained = (id: string): Promise<void> => {
    const done = begun.get(id) ?? drainAfterOthers(byId.get(id), drained)
    begun.set(id, done)
    return done
  }
  await Promise.all(all.map(({ id }) => drained(id)))
}

async function drainAfterOthers(
  one: Draining | undefined,
  drained: (id: string) => Promise<void>,
): Promise<void> {
  await Promise.all((one?.drainsAfter ?? []).map(drained))
  await one?.drain()
}
