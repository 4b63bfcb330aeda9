/** Whether a checkpoint is one to go on from: of this drafter and target, all of it numbers. */
import { Failure } from '../failure.ts'
import type { VocabMaps } from '../models/draft-vocab.ts'
import type { DrafterConfig } from '../models/drafter-config.ts'
import { drafterConfigJson } from '../models/drafter-config-json.ts'
import type { WholeCheckpoint } from './list.ts'
import { checkpointFiles } from './names.ts'
import type { ReadTensor } from './read-tensors.ts'
import type { Json, TrainingProgress } from './state.ts'
import {
  type Moment,
  momentName,
  moments,
  nonFiniteTensors,
  type TrainedTensor,
  wrongMaps,
} from './tensors.ts'

/** What a training goes on with: a checkpoint of anything else is refused. */
export interface Expected extends Pick<TrainingProgress, 'drafter' | 'target'> {
  /** Every parameter, and no other. */
  readonly tensors: readonly { readonly name: string; readonly shape: readonly number[] }[]
  /** Of a drafter that drafts from a part of the vocabulary. */
  readonly maps?: VocabMaps
}

/**
 * What a checkpoint must be of.
 *
 * @param layers  of the target: those that were captured, in the order stored
 */
export const identityOf = (
  drafter: DrafterConfig,
  { fingerprint, layers }: { readonly fingerprint: string; readonly layers: readonly number[] },
): Pick<Expected, 'drafter' | 'target'> => ({
  drafter: drafterConfigJson(drafter, 'float32'),
  target: { fingerprint, layers: [...layers] },
})

/** Named in a message; the rest is counted. */
const namedMax = 8

/** @throws Failure `invalid`: its drafter or target is another; names each value that differs */
export function requireSameTraining(
  { name, state }: WholeCheckpoint,
  expected: Pick<Expected, 'drafter' | 'target'>,
): void {
  const differing = [
    ...differences(state.drafter, expected.drafter, 'drafter'),
    ...differences(state.target, expected.target, 'target'),
  ]
  if (differing.length === 0) return
  throw new Failure(
    'invalid',
    [`the checkpoint is of another training. checkpoint=${name}`, ...differing].join('\n  '),
    {
      remedy:
        'Train with the drafter and target that it was saved with, or begin with `train --new`.',
    },
  )
}

/** A line for each value in which two JSON documents differ. */
export function differences(stored: Json, now: Json, path: string): string[] {
  if (isRecord(stored) && isRecord(now)) {
    const keys = [...new Set([...Object.keys(stored), ...Object.keys(now)])]
    return keys.flatMap((key) => differences(at(stored, key), at(now, key), `${path}.${key}`))
  }
  const [was, is] = [JSON.stringify(stored), JSON.stringify(now)]
  return was === is ? [] : [`${path}: checkpoint=${was}, now=${is}`]
}

const isRecord = (value: Json): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A key that is absent is one without a value. */
const at = (record: { readonly [key: string]: Json }, key: string): Json => record[key] ?? null

type Shaped = Pick<ReadTensor, 'dtype' | 'shape'>

/** What a checkpoint's two files say they hold, by name. */
export interface Headers {
  readonly name: string
  readonly model: ReadonlyMap<string, Shaped>
  readonly optimizer: ReadonlyMap<string, Shaped>
}

/** @throws Failure `invalid`: tensors are missing, left over, of another shape or type; named */
export function requireTensors(headers: Headers, tensors: Expected['tensors']): void {
  const faults = tensorFaults(headers, tensors)
  if (faults.length > 0) throw notThese(headers.name, faults)
}

/** What was read of a checkpoint's two files, as the tensors of a training. */
export interface ReadFiles {
  readonly name: string
  readonly model: readonly ReadTensor[]
  readonly optimizer: readonly ReadTensor[]
}

/**
 * @returns  in the order expected
 * @throws   Failure `invalid`: tensors are missing, left over, of another shape or type, or hold
 *           NaN or infinity; names them
 */
export function trainedTensors(files: ReadFiles, expected: Expected): TrainedTensor[] {
  const model = new Map(files.model.map((tensor) => [tensor.name, tensor]))
  const optimizer = new Map(files.optimizer.map((tensor) => [tensor.name, tensor]))
  const maps = wrongMaps(model, expected.maps)
  const faults = [
    ...maps.map((name) => `${checkpointFiles.model}: ${name} is of another draft vocabulary`),
    ...tensorFaults({ model, optimizer }, expected.tensors),
  ]
  if (faults.length > 0) throw notThese(files.name, faults)
  const tensors = expected.tensors.map(({ name, shape }) => {
    const moment = (which: Moment) => floats(optimizer.get(momentName(which, name)))
    return { name, shape, value: floats(model.get(name)), m: moment('m'), v: moment('v') }
  })
  requireFinite(files.name, tensors)
  return tensors
}

const tensorFaults = (
  { model, optimizer }: Omit<Headers, 'name'>,
  tensors: Expected['tensors'],
): string[] => [
  ...faultsOf(model, 'model', tensors),
  ...faultsOf(
    optimizer,
    'optimizer',
    tensors.flatMap(({ name, shape }) =>
      moments.map((moment) => ({ name: momentName(moment, name), shape })),
    ),
  ),
]

function faultsOf(
  found: ReadonlyMap<string, Shaped>,
  file: 'model' | 'optimizer',
  expected: Expected['tensors'],
): string[] {
  const where = checkpointFiles[file]
  const names = new Set([...expected.map(({ name }) => name), 'd2t', 't2d'])
  const extra = [...found.keys()].filter((name) => !names.has(name))
  const faults = expected.flatMap(({ name, shape }) => {
    const tensor = found.get(name)
    if (!tensor) return [`${where} lacks ${name}`]
    const [want, is] = [`F32 [${shape}]`, `${tensor.dtype} [${tensor.shape}]`]
    return want === is ? [] : [`${where}: ${name}: want=${want}, found=${is}`]
  })
  return [...faults, ...extra.map((name) => `${where} has ${name}, which is no parameter`)]
}

/** It was read into memory of its own. */
function floats(tensor: ReadTensor | undefined): Float32Array<ArrayBuffer> {
  return new Float32Array(tensor?.data.buffer ?? new ArrayBuffer(0))
}

function requireFinite(name: string, tensors: readonly TrainedTensor[]): void {
  const bad = nonFiniteTensors(tensors)
  if (bad.length === 0) return
  const message = `checkpoint holds NaN or infinity. checkpoint=${name}, tensors=${listed(bad)}`
  throw new Failure('invalid', message, {
    remedy: 'Name an older checkpoint to go on from, and look at its learning rate and data.',
  })
}

const notThese = (name: string, faults: readonly string[]): Failure =>
  new Failure(
    'invalid',
    [
      `the checkpoint's tensors are not those of this drafter. checkpoint=${name}`,
      ...faults.slice(0, namedMax),
      ...(faults.length > namedMax ? [`and ${faults.length - namedMax} more`] : []),
    ].join('\n  '),
    { remedy: 'Train with the drafter that it was saved with, or name another checkpoint.' },
  )

const listed = (names: readonly string[]): string =>
  names.length <= namedMax
    ? names.join(', ')
    : `${names.slice(0, namedMax).join(', ')} and ${names.length - namedMax} more`
