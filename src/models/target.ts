/**
 * A target model as it lies on disk: a Hugging Face checkpoint directory, opened and identified.
 */
import { createHash } from 'node:crypto'
import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { readRange } from '../safetensors/read.ts'
import { type Family, parseTargetConfig, type TargetConfig } from './config.ts'
import { openWeights, type Weights, type WeightsFile } from './weights.ts'

/** A checkpoint, opened: its headers are read, its weights stay on disk. */
export interface Target {
  readonly dir: string
  readonly config: TargetConfig
  readonly family: Family
  /** Decoder layers. */
  readonly layers: number
  readonly hiddenSize: number
  readonly vocabSize: number
  readonly weights: Weights
  /**
   * What makes two checkpoints the same for a run: sha256, in hex, over config.json, the
   * safetensors headers, their files' sizes, and bytes sampled from each file. Names and places do
   * not count.
   */
  fingerprint(): Promise<string>
  /**
   * Changes with any write to the checkpoint on this machine, also one that no sampled byte shows:
   * the files' numbers, sizes and times. Says nothing of another machine's copy.
   */
  stamp(): Promise<string>
}

const sampleBytes = 4096
const samplesPerFile = 64

/**
 * Reads config.json and the weights' headers, not the weights.
 *
 * @param dir  of the checkpoint; symlinks are followed
 * @throws     Failure `invalid`: not a checkpoint, or not one that is supported; `corrupt`: damaged
 */
export async function openTarget(dir: string): Promise<Target> {
  const path = join(dir, 'config.json')
  const bytes = await readConfig(path, dir)
  const config = parseTargetConfig(parse(bytes, path), path)
  const weights = await openWeights(dir)
  return {
    dir,
    config,
    family: config.family,
    layers: config.layers,
    hiddenSize: config.hiddenSize,
    vocabSize: config.vocabSize,
    weights,
    fingerprint: () => fingerprint(bytes, weights.files),
    stamp: () => stamp([path, ...weights.files.map((file) => file.path)]),
  }
}

/** @throws  Failure `invalid`: its files are not those that had this stamp */
export async function requireUnchanged(target: Target, stamp: string): Promise<void> {
  if ((await target.stamp()) === stamp) return
  throw new Failure(
    'invalid',
    `the target has changed since the run was started. dir=${target.dir}`,
    {
      remedy: 'Start the run again: it checks whether this is still its target.',
    },
  )
}

async function readConfig(path: string, dir: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (cause) {
    throw new Failure('invalid', `no target checkpoint there. dir=${dir}, want=config.json in it`, {
      remedy: 'Set target.path to a Hugging Face checkpoint directory.',
      cause,
    })
  }
}

function parse(bytes: Buffer, path: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw new Failure('invalid', `target config is no JSON. file=${path}`, { cause })
  }
}

async function fingerprint(config: Buffer, files: readonly WeightsFile[]): Promise<string> {
  const hash = createHash('sha256').update(config)
  for (const file of files) {
    hash.update(`\n${file.bytes}\n`)
    for await (const bytes of samples(file)) hash.update(bytes)
  }
  return hash.digest('hex')
}

async function stamp(paths: readonly string[]): Promise<string> {
  const stats = await Promise.all(paths.map((path) => stat(path)))
  return stats.map(({ ino, mtimeMs, size }) => `${ino}:${size}:${mtimeMs}`).join(' ')
}

/**
 * The header whole, then pieces spread evenly over the data, its first and last bytes among them.
 */
async function* samples({ path, bytes, dataStart }: WeightsFile): AsyncGenerator<Uint8Array> {
  await using handle = await open(path)
  const read = (start: number, length: number) =>
    readRange(handle, { path, start, end: start + length })
  yield read(0, dataStart)
  const last = Math.max(dataStart, bytes - sampleBytes)
  for (let i = 0; i < samplesPerFile; i++) {
    const position = Math.floor(dataStart + ((last - dataStart) * i) / (samplesPerFile - 1))
    yield read(position, Math.min(sampleBytes, bytes - position))
    if (last === dataStart) return
  }
}
