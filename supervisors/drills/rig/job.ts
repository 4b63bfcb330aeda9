import type { ObjectStore } from '../../../src/store/store.ts'

/** A small whole job on disk: target, dataset, configuration, work folder. */
export interface Job {
  /** Holds all the rest. */
  readonly dir: string
  readonly config: string
  readonly work: string
  readonly target: string
  readonly dataset: string
  readonly storeUrl: string
  /** Further arguments of commands that are given the store alone. */
  readonly storeArgs: readonly string[]
  readonly env: Readonly<Record<string, string>>
  openStore(): Promise<ObjectStore>
}
