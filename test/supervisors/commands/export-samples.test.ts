import assert from 'node:assert/strict'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openDataset } from '../../../src/dataset/shards.ts'
import { readSafetensors } from '../../../src/safetensors/read.ts'
import { float32Elements } from '../../../src/tensor/tensor.ts'
import { start } from '../../../supervisors/drills/rig/process.ts'
import { assertReadable, assertRefused, draftsmith } from '../../support/commands/draftsmith.ts'
import { runThrough } from '../../support/commands/finished-run.ts'
import {
  filesBelow,
  fileUrl,
  folder,
  goldenTarget,
  type JobSettings,
  listing,
  writeConfig,
} from '../../support/commands/golden-job.ts'
import { type Row, writeRows } from '../../support/rows.ts'
import { maxAbsDiff } from '../../support/target-run.ts'

/** `export --format speculators`: a store's samples, as another trainer's loader reads them. */

const dir = folder({ after })
const data = join(dir, 'data')
/** Of six rows four have a file, two of them the same. */
const rows: readonly Row[] = [
  [1, 2, 3],
  [],
  [4, 5, 6, 7, 8],
  { ids: [9, 10], mask: [0, 0] },
  [1, 2, 3],
  [11, 12],
]
const [first, second, twin, last] = [0, 2, 4, 5]
const file = (row: number) => `hidden_states/hs_${row}.safetensors`

/** Target layers from 0 to 5. */
const layers = [1, 2, 3, 4, 5]
const runs: Readonly<Record<string, JobSettings['target']>> = {
  raw: { layers },
  final: { layers, captureFinal: true },
  middle: { layers: [0, 1, 2, 3, 4] },
}
const store = (name: string) => fileUrl(dir, name, 'store')

before(async () => {
  await writeRows(data, rows)
  for (const [name, target] of Object.entries(runs)) {
    await runThrough(dir, name, { dataset: { path: data }, ...(target && { target }) })
  }
})

const args = (name: string, out: string, ...more: string[]) => {
  const options = ['--format', 'speculators', '--keep-free', '1MB']
  return ['export', store(name), join(dir, out), ...options, ...more]
}
const exported = (name: string, out: string, ...more: string[]) =>
  draftsmith(args(name, out, ...more), { dir })

const samplesOf = (name: string) => {
  const files = filesBelow(join(dir, name, 'store/hidden-states'))
  return files.map((path) => readFileSync(join(dir, name, 'store/hidden-states', path)))
}
const idsIn = (bytes: Uint8Array): number[] => {
  const ids = readSafetensors(bytes, 'sample').tensors.get('token_ids')?.data ?? new Uint8Array()
  return Array.from(new BigInt64Array(new Uint8Array(ids).buffer), Number)
}

test('export for speculators: file N is row N’s sample, byte for byte', async () => {
  const ended = await exported('raw', 'whole', '--json')
  assert.equal(ended.code, 0, ended.stderr)
  const told = JSON.parse(ended.stdout)
  const { written, there, shared, without, differ, targetLayerIds } = told
  assert.deepEqual([told.rows, written, there, shared, without], [6, 3, 0, 1, 2])
  assert.deepEqual([differ, targetLayerIds], [[], [2, 3, 4, 5]])

  const out = join(dir, 'whole')
  const names = ['data-00000-of-00001.arrow', 'dataset_info.json', 'draftsmith-export.json']
  assert.deepEqual(readdirSync(out).sort(), [...names, 'hidden_states', 'state.json'])
  const states = readdirSync(join(out, 'hidden_states')).sort()
  assert.deepEqual(
    states,
    [first, second, twin, last].map((row) => `hs_${row}.safetensors`),
  )
  const kept = samplesOf('raw')
  for (const row of [first, second, twin, last]) {
    const bytes = readFileSync(join(out, file(row)))
    const ids = rows[row]
    assert.deepEqual(idsIn(bytes), ids)
    assert.ok(
      kept.some((sample) => sample.equals(bytes)),
      `row ${row}`,
    )
  }
  assert.equal(statSync(join(out, file(first))).ino, statSync(join(out, file(twin))).ino)

  const before = listing(out)
  const again = await exported('raw', 'whole')
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stdout, /^0 samples written to .*, 3 were there;$/m)
  assert.match(again.stdout, /--on-missing skip --target-layer-ids 2 3 4 5$/m)
  assertReadable(again)
  assert.deepEqual(listing(out), before)
})

test('export for speculators: the dataset beside them has every row in its place', async () => {
  const ended = await exported('raw', 'rows', '--work', join(dir, 'rows-work'))
  assert.equal(ended.code, 0, ended.stderr)
  const out = join(dir, 'rows')
  const columns = { inputIds: 'input_ids', lossMask: 'loss_mask', seqLen: 'seq_len' }
  const written = openDataset(out, { split: null, columns })
  assert.equal(written.rows, rows.length)
  assert.deepEqual([...written.lengths()], [3, 0, 5, 2, 3, 2])
  const row = written.read(second)
  assert.ok('ids' in row)
  assert.deepEqual([[...row.ids], [...(row.mask ?? [])]], [rows[second], [0, 1, 1, 1, 1]])
  const state = JSON.parse(readFileSync(join(out, 'state.json'), 'utf8'))
  assert.equal(state._format_type, 'torch')
  assert.deepEqual(listing(join(dir, 'rows-work', 'dataset')), listing(data), 'kept, as it was')
})

test('export for speculators: `import` takes its files back, and stores the same', async () => {
  const ended = await exported('raw', 'lent')
  assert.equal(ended.code, 0, ended.stderr)
  const out = join(dir, 'lent')
  const config = writeConfig(dir, 'back', { dataset: { path: out }, target: { layers } })
  const back = await draftsmith(['import', out, config, '--json'], { dir })
  assert.equal(back.code, 0, back.stderr)
  const states = (name: string) => listing(join(dir, name, 'store', 'hidden-states'))
  assert.deepEqual(states('back'), states('raw'))
})

test('export for speculators: killed in the middle, it goes on; no file is half', async (t) => {
  const crash = { at: 'export.before-rename', hit: 2, end: 'all' } as const
  const killed = await start(t, args('raw', 'killed', '--parallel', '1'), { dir, crash }).ended()
  assert.equal(killed.signal, 'SIGKILL', killed.stderr)
  const out = join(dir, 'killed')
  const left = readdirSync(join(out, 'hidden_states'))
  assert.deepEqual(left.sort(), ['hs_0.safetensors', 'hs_2.safetensors.partial'])

  const ended = await exported('raw', 'killed', '--json')
  assert.equal(ended.code, 0, ended.stderr)
  const { written, there } = JSON.parse(ended.stdout)
  assert.deepEqual([written, there], [2, 1])
  const whole = await exported('raw', 'undisturbed')
  assert.equal(whole.code, 0, whole.stderr)
  assert.deepEqual(listing(out), listing(join(dir, 'undisturbed')))
})

test('export for speculators: a state after the final norm becomes one before it', async () => {
  const ended = await exported('final', 'unnormed', '--json')
  assert.equal(ended.code, 0, ended.stderr)
  assert.deepEqual(JSON.parse(ended.stdout).targetLayerIds, [2, 3, 4, 5, 6])
  for (const row of [first, second, last]) {
    const bytes = readFileSync(join(dir, 'unnormed', file(row)))
    const { metadata, tensors } = readSafetensors(bytes, 'sample')
    assert.match(metadata.get('captures') ?? '', /layer_5,before_final_norm$/)
    assert.deepEqual(idsIn(bytes), rows[row])
    const states = tensors.get('hidden_states')
    assert.ok(states)
    const [tokens, captures, hidden] = states.shape
    const values = float32Elements(states)
    for (let token = 0; token < tokens; token++) {
      const state = (capture: number) => {
        const at = (token * captures + capture) * hidden
        return values.subarray(at, at + hidden)
      }
      // The last layer's state is there too: of the length that the norm gives, it is this one.
      const diff = maxAbsDiff(state(captures - 1), unit(state(captures - 2)))
      assert.ok(diff < 1e-5, `row ${row}, token ${token} is off by ${diff}`)
    }
  }
})

/** x / rms(x), as Qwen3's norm has it. */
function unit(x: Float32Array): Float32Array {
  const mean = x.reduce((sum, value) => sum + value * value, 0) / x.length
  return x.map((value) => value / Math.sqrt(mean + 1e-6))
}

test('export for speculators: without a last state it is refused, unless told to', async () => {
  const refused = await exported('middle', 'none')
  assertRefused(refused, {
    says: [/kept no last state of its target. want=5 .* found=\[0, 1, 2, 3, 4\]/, /--last-as-is/],
  })
  assert.deepEqual(filesBelow(join(dir, 'none')), [])
  const told = await exported('middle', 'none', '--last-as-is', '--json')
  assert.equal(told.code, 0, told.stderr)
  assert.deepEqual(JSON.parse(told.stdout).targetLayerIds, [1, 2, 3, 4])
  assert.equal(filesBelow(join(dir, 'none', 'hidden_states')).length, 4)
})

test('export for speculators: a target that is not the run’s is refused', async () => {
  const other = goldenTarget('qwen3_tied_f32')
  assertRefused(await exported('raw', 'none-2', '--target', other), {
    says: [/not the target of this run. dir=.*qwen3_tied_f32, want=.*, found=/],
  })
  assertRefused(await exported('raw', 'none-2', '--target', join(dir, 'nowhere')), {
    says: [/no target checkpoint there/],
  })
})

test('export for speculators: other content, and another export, stay', async () => {
  const out = join(dir, 'taken')
  mkdirSync(join(out, 'hidden_states'), { recursive: true })
  writeFileSync(join(out, 'notes.txt'), 'mine')
  writeFileSync(join(out, file(first)), 'of another')
  const before = listing(out)
  const refused = await exported('raw', 'taken')
  assertRefused(refused, { says: [/holds other content. .*found=hidden_states, notes.txt/] })
  assert.deepEqual(listing(out), before)

  const over = await exported('raw', 'taken', '--overwrite', '--json')
  assert.equal(over.code, 0, over.stderr)
  assert.equal(JSON.parse(over.stdout).written, 3)
  assert.equal(readFileSync(join(out, 'notes.txt'), 'utf8'), 'mine')
  assert.deepEqual(idsIn(readFileSync(join(out, file(first)))), rows[first])

  assertRefused(await exported('final', 'taken'), {
    says: [/holds another export/, /run: folder=.*, now=/, /lastState: folder=as stored/],
  })
  // Of more shards, as the dataset may have had then.
  const stale = join(out, 'data-00000-of-00002.arrow')
  writeFileSync(stale, '')
  const other = await exported('final', 'taken', '--overwrite', '--json')
  assert.equal(other.code, 0, other.stderr)
  assert.equal(JSON.parse(other.stdout).written, 3)
  assert.ok(!existsSync(stale))
})

test('export for speculators: what differs in the store is named, and no more', async () => {
  cpSync(join(dir, 'raw', 'store'), join(dir, 'damaged', 'store'), { recursive: true })
  const states = join(dir, 'damaged', 'store', 'hidden-states')
  const [gone, cut] = filesBelow(states)
  rmSync(join(states, gone))
  writeFileSync(join(states, cut), readFileSync(join(states, cut)).subarray(1))
  const ended = await exported('damaged', 'damaged-out')
  assert.equal(ended.code, 1, ended.stderr)
  assert.match(ended.stdout, new RegExp(`^hidden-states/${gone}: is not there$`, 'm'))
  assert.match(ended.stdout, new RegExp(`^hidden-states/${cut}: size: want=\\d+, found=\\d+$`, 'm'))
  assert.match(ended.stdout, /^1 samples written/m)
  assertReadable(ended)
})

test('export for speculators: a disk that must keep more is left alone', async () => {
  const ended = await exported('raw', 'full', '--keep-free', '1000TB')
  assertRefused(ended, { says: [/too little room. want=.*, free=.*, keepFree=1.0 PB/] })
  assert.deepEqual(filesBelow(join(dir, 'full', 'hidden_states')), [])
})
