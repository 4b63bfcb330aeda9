import { request } from './contract.ts'

export const uploaderContract = {
  /**
   * So many uploads at once from now on, in place of what the uploader was started with. What is
   * under way beyond them is finished.
   */
  setLanes: request<number, void>(),
}
