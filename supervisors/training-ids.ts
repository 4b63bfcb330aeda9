/** The actors of a training, by name: its own supervisor's children, as others know them. */
export const trainingIds = {
  loader: 'loader',
  trainer: 'trainer/0',
  checkpointer: 'checkpointer',
  /** Those that hold permits of the ledger. */
  ofStore: ['loader', 'checkpointer'],
} as const
