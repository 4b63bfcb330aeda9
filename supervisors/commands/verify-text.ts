import { count } from '../../actors/console/numbers.ts'
import type { NewestCheckpoint } from '../../src/audit/newest-checkpoint.ts'
import { firstLines } from './first-lines.ts'
import type { Verified } from './verify.ts'

/** What people read of a verification. */

export function verifyText(found: Verified): string {
  const { store, stored, differ, repaired } = found
  const lines = firstLines(differ.map(({ key, problem }) => `${key}: ${problem}`))
  const all = `all ${count(stored)} samples of the manifest are in ${store}`
  const some = `${count(differ.length)} of ${count(stored)} samples differ in ${store}`
  lines.push(`${differ.length === 0 ? `Verified: ${all}` : some}${alsoText(found)}`)
  lines.push(checkedText(found))
  if (repaired > 0) {
    lines.push(`${count(repaired)} are marked as lost: the next run extracts them again.`)
  } else if (differ.length > 0) {
    lines.push('--repair marks them as lost, so that the next run extracts them again.')
  }
  if (found.checkpoint) lines.push(checkpointText(found.checkpoint))
  return lines.join('\n')
}

function checkpointText({ name, step, by, problem, half }: NewestCheckpoint): string {
  const passed = half > 0 ? ` ${count(half)} that are not complete are passed over.` : ''
  if (problem !== null) {
    const remedy = 'A training passes it over, and goes on from the one before.'
    return `The newest checkpoint, ${name}, is damaged: ${problem}. ${remedy}${passed}`
  }
  const how = by === 'none' ? 'sizes; its bytes with --deep' : `sizes and ${by}`
  return `The newest checkpoint is whole: step ${step}, ${name} (by ${how}).${passed}`
}

function alsoText({ lost, quarantined, unnamed }: Verified): string {
  const also = [
    quarantined > 0 ? `${count(quarantined)} samples are quarantined` : '',
    lost > 0 ? `${count(lost)} are marked as lost, for the next run to extract again` : '',
    unnamed > 0 ? `${count(unnamed)} objects are named by no manifest line, and harmless` : '',
  ].filter((part) => part !== '')
  return also.length > 0 ? ` (${also.join('; ')})` : ''
}

function checkedText({ heads, read, stored }: Verified): string {
  const looked = ['presence and size of all']
  if (heads.told > 0) looked.push(`the checksum that the store tells of ${count(heads.told)}`)
  if (read > 0) looked.push('every byte')
  const not = []
  if (read < stored) {
    const without = count(stored - heads.told)
    if (heads.asked > 0 && heads.told === 0)
      not.push('checksums, for this store tells none of what is stored')
    else if (heads.told < stored) not.push(`the checksums of ${without} (--heads all)`)
    not.push('what the objects hold (--deep)')
  }
  const rest = not.length > 0 ? `; not checked: ${not.join(', ')}` : ''
  return `Checked: ${looked.join(', ')}${rest}.`
}
