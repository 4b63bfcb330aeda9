/** How closely `verify` looks. */
export interface VerifyDepth {
  /** How many objects the store is asked about singly. */
  readonly heads: number
  /** Reads every byte. */
  readonly deep: boolean
  /** Requests open at once. */
  readonly parallel: number
}

export const headsDefault = 100
export const parallelDefault = 100
