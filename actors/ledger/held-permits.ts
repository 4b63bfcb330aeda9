import type { TransferKind } from '../../src/store/permits.ts'

/**
 * How many permits are with those that outlive the ledger's thread: their requests go on while it
 * is away, and count towards the bound of the next one.
 */
export interface SharedPermits {
  /** Ids of those that ask for permits, and go on without a ledger. */
  readonly holders: readonly string[]
  /** Of each holder, a number for each kind. Read and written by one ledger at a time. */
  readonly counts: Int32Array<SharedArrayBuffer>
}

const kinds: readonly TransferKind[] = ['sample', 'manifest', 'checkpoint']

export const newSharedPermits = (holders: readonly string[]): SharedPermits => {
  const memory = new SharedArrayBuffer(holders.length * kinds.length * Int32Array.BYTES_PER_ELEMENT)
  return { holders, counts: new Int32Array(memory) }
}

export interface HeldPermit {
  readonly asker: string
  readonly kind: TransferKind
}

export class HeldPermits {
  readonly #shared: SharedPermits

  constructor(shared: SharedPermits) {
    this.#shared = shared
  }

  /** @param change  1: it was given one, -1: one came back */
  note({ asker, kind }: HeldPermit, change: 1 | -1): void {
    const at = this.#shared.holders.indexOf(asker)
    if (at >= 0) this.#shared.counts[at * kinds.length + kinds.indexOf(kind)] += change
  }

  /** What the ledger before this one left with them; from now on they are this one's to count. */
  take(): readonly HeldPermit[] {
    const { holders, counts } = this.#shared
    const left = holders.flatMap((asker, at) =>
      kinds.flatMap((kind, of) => {
        const held = { asker, kind }
        return Array.from({ length: counts[at * kinds.length + of] ?? 0 }, () => held)
      }),
    )
    counts.fill(0)
    return left
  }
}
