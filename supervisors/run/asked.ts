import { checkpointerContract } from '../../protocol/checkpointer.ts'
import { ledgerContract } from '../../protocol/ledger.ts'
import { loaderContract } from '../../protocol/loader.ts'
import type { Peer } from '../../protocol/peer.ts'
import { sourceContract } from '../../protocol/source.ts'
import { trainerContract } from '../../protocol/trainer.ts'
import { Failure } from '../../src/failure.ts'
import type { Tree } from '../engine/tree.ts'
import type { Job } from '../job.ts'
import { trainingIds } from '../training-ids.ts'

/** Those that know how far the work is, as this thread asks them. */
export interface Asked {
  readonly ledger: Peer<typeof ledgerContract>
  /** Null where nothing fills the spool. */
  readonly source: Peer<typeof sourceContract> | null
  /** Null where nothing trains. */
  readonly training: {
    readonly loader: Peer<typeof loaderContract>
    readonly trainer: Peer<typeof trainerContract>
    readonly checkpointer: Peer<typeof checkpointerContract>
  } | null
}

/** What a person waits for: an actor that asks is patient for longer. */
export const asksFor = { withinMs: 600_000 } as const

/** Each makes a port that stays. */
export const askedOf = (tree: Tree, { filling, trains }: Job): Asked => ({
  ledger: tree.client('ledger', ledgerContract),
  source: filling && tree.client(filling.source, sourceContract),
  training: trains
    ? {
        loader: tree.client(trainingIds.loader, loaderContract),
        trainer: tree.client(trainingIds.trainer, trainerContract),
        checkpointer: tree.client(trainingIds.checkpointer, checkpointerContract),
      }
    : null,
})

/** As `RootControl.checkpoint`. */
export async function saveCheckpoint(asked: Asked | undefined): Promise<string | null> {
  const checkpointer = asked?.training?.checkpointer
  if (!checkpointer) throw new Failure('invalid', 'no drafter is trained here')
  return (await checkpointer.again((ask) => ask.save(), asksFor))?.name ?? null
}
