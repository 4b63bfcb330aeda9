/** What the demo's conversations are about. */

/** Draftsmith's own terms. */
export const terms: Readonly<Record<string, string>> = {
  sample: 'A sample is one row of the dataset.',
  batch: 'A batch is a planned group of samples under a token budget.',
  spool: 'The spool is the local folder of finished samples that are not yet committed.',
  stored: 'A sample is stored once the store has acknowledged it and that was checked.',
  committed: 'A sample is committed once a manifest segment that names it is in the store.',
  drill: 'A drill kills something real and then checks that nothing was lost.',
  reader: 'The reader plans batches, and hands one to each extractor that asks.',
  extractor: "An extractor runs the target over a batch and keeps its layers' hidden states.",
  uploader: 'An uploader sends finished samples to the store and confirms that they are there.',
  ledger: 'The ledger owns what is spooled, uploading, stored and committed.',
  manifest: 'The manifest is the record of what is stored: segments that are never changed.',
  supervisor: 'A supervisor starts its children, watches them, and restarts those that die.',
  trainer: 'The trainer makes a drafter out of the hidden states, one step after the other.',
  checkpoint: 'A checkpoint is all that a training needs to go on where it was.',
}

export const names = ['Ada', 'Ben', 'Cleo', 'Dan', 'Eva', 'Finn', 'Gus', 'Hana', 'Ivo', 'Jo']

export const towns = ['Oslo', 'Rome', 'Lima', 'Bern', 'Cairo', 'Delhi', 'Paris', 'Quito']

export const things = ['apples', 'books', 'coins', 'eggs', 'nuts', 'pens', 'stamps', 'tickets']

export const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

export const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
