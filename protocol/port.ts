import type { Transferable } from 'node:worker_threads'

/**
 * What a channel needs of the MessagePort it runs over, so that others can carry it too: another
 * process's socket, or a simulated network.
 */
export interface Port {
  /**
   * Messages arrive in the order they were posted, each as a structured clone; one posted after
   * either end was closed is dropped.
   *
   * @param given  what is moved instead of copied
   * @throws DOMException: the message holds what cannot be cloned
   */
  postMessage(message: unknown, given?: readonly Given[]): void
  /** Messages wait for the first listener. */
  on(event: 'message', listener: (message: unknown) => void): unknown
  /** Once, when either end was closed or whoever held the other one has ended. */
  on(event: 'close', listener: () => void): unknown
  close(): void
}

/** What a message may give away. */
export type Given = Transferable | Port
