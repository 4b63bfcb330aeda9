import { drillGround, testDrills } from '../support/crash/held-drills.ts'

/** An actor ends at each named point of its work, or by order. */
testDrills(await drillGround(), [
  'reader-killed',
  'extractor-killed',
  'extractor-killed-around-rename',
  'uploader-killed-before-commit',
  'ledger-killed-before-commit',
  'ledger-killed-after-commit',
  'actors-killed-by-order',
])
