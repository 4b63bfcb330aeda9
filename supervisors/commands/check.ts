import { join } from 'node:path'
import { count } from '../../actors/console/numbers.ts'
import { skippedText } from '../../actors/console/text.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Config } from '../../src/config/schema.ts'
import { formatBytes } from '../../src/config/sizes.ts'
import { examineRows } from '../../src/dataset/examine.ts'
import { captureNames, hiddenStatesGraph } from '../../src/models/hidden-states.ts'
import { prepareModel } from '../../src/session/prepare.ts'
import { openSession } from '../../src/session/session.ts'
import { freeBytes } from '../../src/spool/spool.ts'
import { type Finding, findingsText, type Look, lookingInto } from '../check/findings.ts'
import { lookForNotice } from '../check/look-for-notice.ts'
import { type Held, probeStore } from '../check/probe-store.ts'
import { lookAtTraining } from '../check/probe-training.ts'
import { exitCodes } from '../run/machine.ts'
import { requireOwn, waitingIn } from '../run/own-spool.ts'
import {
  bytesPerToken,
  type ChosenTarget,
  datasetOf,
  noUsableRow,
  requireFolder,
  requireRoom,
  targetOf,
  threadsFor,
} from '../run/preflight.ts'

/**
 * `check CONFIG`: everything a run needs, looked at before it starts; all that is wrong is told.
 */

export async function check(path: string, { json }: { readonly json: boolean }): Promise<number> {
  const findings: Finding[] = []
  const look = lookingInto(findings)
  const config = await look('configuration', async () => {
    const { config, warnings } = loadConfig(path)
    return [warnings.length === 0 ? 'in order' : warnings.join('; '), config]
  })
  if (config) await lookAtAll(config, look)
  const ok = findings.every(({ state }) => state !== 'wrong')
  const told = findings.map((finding) => ({ ok: finding.state !== 'wrong', ...finding }))
  const text = json
    ? JSON.stringify({ ok, findings: told })
    : findingsText(findings, process.stdout.columns)
  process.stdout.write(`${text}\n`)
  return ok ? exitCodes.done : exitCodes.refused
}

async function lookAtAll(config: Config, look: Look): Promise<void> {
  const work = await look('work folder', async () => {
    requireFolder(config.work)
    return [config.work, config.work]
  })
  const chosen = await look('target', () => lookAtTarget(config))
  if (chosen && work) await look('model', () => lookAtModel(config, chosen))
  await look('dataset', () => lookAtDataset(config, chosen))
  const training =
    chosen && config.train && (await look('training', () => lookAtTraining(config, chosen)))
  if (chosen && work) await look('disk', () => lookAtDisk(config, chosen))
  const { preemption } = config
  if (preemption) await look('spot notice', () => lookForNotice(preemption))
  const held = await probeStore(config, chosen && { ...chosen, training }, look)
  if (work) await look('spool', () => lookAtSpool(work, held))
}

async function lookAtTarget(config: Config): Promise<[string, ChosenTarget]> {
  const chosen = await targetOf(config)
  const { target } = chosen
  const { captureFinal } = config.target
  const captures = captureNames({ ...chosen, captureFinal, dtype: config.extract.dtype })
  const shape = `${target.config.architecture}, ${target.layers} layers of ${target.hiddenSize}`
  return [`${shape}; captures ${captures.join(', ')}`, chosen]
}

/** Loads it on every device once, and runs it on two tokens. */
async function lookAtModel(
  config: Config,
  { target, layers }: ChosenTarget,
): Promise<[string, null]> {
  const { devices, dtype } = config.extract
  const { captureFinal } = config.target
  const graph = hiddenStatesGraph(target, { layers, captureFinal, dtype })
  const copied: string[] = []
  const dir = join(config.work, 'model', (await target.fingerprint()).slice(0, 16))
  const path = await prepareModel(graph, dir, (copy) => copied.push(copy.path))
  const lines: string[] = []
  for (const device of new Set(devices)) {
    const before = process.memoryUsage.rss()
    const session = await openSession(path, { device, threads: threadsFor(devices) })
    const ids = { dtype: 'I64', shape: [1, 2], data: new BigInt64Array(2) } as const
    await session.run({ input_ids: ids })
    const took = formatBytes(Math.max(0, process.memoryUsage.rss() - before))
    await session.release()
    const times = devices.filter((other) => other === device).length
    const each = times > 1 ? ` for each of ${times} extractors` : ''
    lines.push(`${device}: runs, takes ${took} of memory${each}`)
  }
  if (copied.length > 0) lines.push(`${copied.length} weight files were copied, not linked`)
  return [lines.join('; '), null]
}

async function lookAtDataset(
  config: Config,
  chosen: ChosenTarget | undefined,
): Promise<[string, null]> {
  const dataset = datasetOf(config)
  const { limit, maxTokens } = config.extract
  const vocab = chosen?.target.vocabSize ?? Number.POSITIVE_INFINITY
  const rows = Math.min(dataset.rows, limit ?? dataset.rows)
  const seen = examineRows(dataset, { rows, limits: { vocab, maxTokens } })
  if (seen.usable === 0) throw noUsableRow(rows, seen.skipped)
  const examples = Object.entries(seen.examples).map(
    ([reason, some]) =>
      `${reason}: rows ${some.join(', ')}${seen.skipped[reason] > some.length ? ', …' : ''}`,
  )
  const usable = `${count(seen.usable)} usable of ${count(seen.tokens)} tokens`
  const all = `${count(rows)} rows, ${usable}, ${skippedText(seen.skipped)}`
  return [[all, ...examples].join('; '), null]
}

async function lookAtDisk(config: Config, chosen: ChosenTarget): Promise<[string, null]> {
  await requireRoom(config, bytesPerToken(config, chosen))
  const { keepFree, maxBytes } = config.spool
  const free = await freeBytes(config.work)
  const kept = `${formatBytes(free)} free, ${formatBytes(keepFree)} are kept free`
  return [`${kept}, the spool takes ${formatBytes(maxBytes)} at most`, null]
}

/** @param held  undefined: the store does not tell which run it holds, or whether it does */
async function lookAtSpool(work: string, held: Held | undefined): Promise<[string, null]> {
  const waiting = await waitingIn(work)
  if (waiting.samples === 0) return ['nothing waits in it', null]
  const found = `${count(waiting.samples)} samples wait in it`
  if (!held) return [`${found}; only the store tells whether they are of its run`, null]
  requireOwn(waiting, held.run)
  return [waiting.run === undefined ? `${found}; nothing says of which run` : found, null]
}
