/** How long its work may keep an extractor's thread busy. */

/** Its start: 140 GB of weights from a disk that gives 100 MB/s, copied first. */
export const loadMs = 3_600_000

/** A batch, at least. */
export const batchMs = 2 * 60_000
