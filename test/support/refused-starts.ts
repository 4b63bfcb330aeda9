/** Ways to have the system refuse the start of a process, and to let it start again. */

/** The system refuses the first as it is asked for it, the second a moment later. */
export const refusals: readonly { readonly code: string; readonly refuse: () => () => void }[] = [
  {
    code: 'E2BIG',
    refuse: () => {
      process.env.DRAFTSMITH_TEST_TOO_LONG = 'x'.repeat(1 << 20)
      return () => delete process.env.DRAFTSMITH_TEST_TOO_LONG
    },
  },
  {
    code: 'ENOENT',
    refuse: () => {
      const { execPath } = process
      process.execPath = '/nowhere/node'
      return () => {
        process.execPath = execPath
      }
    },
  },
]
