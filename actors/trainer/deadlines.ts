/** How long its work may keep a trainer's thread busy. */

/** Its start: the target's embedding from a slow disk. */
export const loadMs = 600_000

/** A step, at least: it may meet a shape of which there is no graph yet. */
export const stepMs = 10 * 60_000
