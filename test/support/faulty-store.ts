/** A store whose puts go wrong, one after the other, as a test says. */

import type { Failure } from '../../src/failure.ts'
import { readBody } from '../../src/store/body.ts'
import { eachRequest } from '../../src/store/each-request.ts'
import type { Acknowledgement, ObjectStore } from '../../src/store/store.ts'

export type PutFault =
  /** It is as it should be. */
  | 'none'
  /** Half of the body is kept, and acknowledged with the checksum of that half. */
  | 'half'
  /** Half of the body is kept, and the acknowledgement says nothing of it. */
  | 'half, unsaid'
  /** All of it is kept, and the acknowledgement says nothing. */
  | 'unsaid'
  /** Nothing is kept. */
  | Failure

/** Each put takes the next fault; when there are none left, puts are as they should be. */
export function faultyPuts(store: ObjectStore, faults: readonly PutFault[]) {
  const left = [...faults]
  let puts = 0
  const faulty: ObjectStore = {
    ...eachRequest(store, (work) => work()),
    put: async (key, body, options): Promise<Acknowledgement> => {
      puts += 1
      const fault = left.shift() ?? 'none'
      if (fault === 'none') return await store.put(key, body, options)
      if (typeof fault !== 'string') throw fault
      const bytes = await readBody(body)
      const kept = fault === 'unsaid' ? bytes : bytes.subarray(0, bytes.length / 2)
      const said = await store.put(key, kept)
      return fault === 'half' ? said : {}
    },
  }
  return {
    store: faulty,
    get puts() {
      return puts
    },
  }
}
