import { join } from 'node:path'
import { Failure } from '../../src/failure.ts'
import type { Log } from '../../src/log.ts'
import { captureNames, hiddenStatesGraph } from '../../src/models/hidden-states.ts'
import { openTarget, requireUnchanged } from '../../src/models/target.ts'
import { sampleMetadata } from '../../src/sample/encode.ts'
import type { Feed } from '../../src/session/feed.ts'
import type { Gate } from '../../src/session/gate.ts'
import { prepareModel } from '../../src/session/prepare.ts'
import { openSession } from '../../src/session/session.ts'
import type { Capture } from './capture.ts'
import type { ModelInput } from './extract.ts'
import type { ExtractorInput } from './index.ts'

export interface LoadedModel {
  /** One capture a name, in that order. */
  readonly forward: (input: ModelInput) => Promise<readonly Capture[]>
  readonly captures: readonly string[]
  readonly hidden: number
  readonly metadata: Readonly<Record<string, string>>
  readonly release: () => Promise<void>
}

/** Builds the target's graph, lays it out beside its weights and opens it on the device. */
export async function loadModel(
  input: ExtractorInput,
  { gate, log }: { readonly gate: Gate; readonly log: Log },
): Promise<LoadedModel> {
  const { layers, captureFinal, fingerprint } = input.target
  const target = await openTarget(input.target.path)
  const captures = { layers, captureFinal, dtype: input.dtype }
  const graph = hiddenStatesGraph(target, captures)
  const model = await prepareModel(
    graph,
    join(input.work, 'model', fingerprint.slice(0, 16)),
    ({ path, bytes }) =>
      log.info({ path, bytes }, 'weights are copied: they lie on another filesystem'),
  )
  const session = await openSession(model, { device: input.device, threads: input.threads, gate })
  const names = captureNames(captures)
  const forward = async ({ ids, rows, width }: ModelInput): Promise<readonly Capture[]> => {
    const feed = { dtype: 'I64', shape: [rows, width], data: ids } as const
    const results = await session.run({ input_ids: feed })
    return names.map((name) => captureOf(name, results[name]))
  }
  // After the weights were read: what was read is then what the run was begun with.
  await requireUnchanged(target, input.target.stamp)
  // A model that cannot run ends its extractor here, at its start, and no batch is blamed for it.
  await forward({ ids: new BigInt64Array(2), rows: 1, width: 2 })
  return {
    captures: names,
    hidden: target.hiddenSize,
    metadata: sampleMetadata(fingerprint, names),
    forward,
    release: () => session.release(),
  }
}

function captureOf(name: string, result: Feed | undefined): Capture {
  if (result && result.dtype !== 'I64') return result.data
  throw new Failure(
    'corrupt',
    `the model gave no such result. want=${name}, found=${result?.dtype}`,
  )
}
