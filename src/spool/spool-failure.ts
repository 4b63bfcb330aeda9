import { diskFailure, ofWorkFolder, type Undone } from '../disk-failure.ts'

const ofSpool = {
  ...ofWorkFolder,
  full: 'Free room on the disk of the work folder, or lower spool.maxBytes.',
}

/** As `diskFailure`, for the files of the spool: its share of the disk is a person's to set. */
export const spoolFailure = (error: unknown, undone: Undone): unknown =>
  diskFailure(error, undone, ofSpool)
