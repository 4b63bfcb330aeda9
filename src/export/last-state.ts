/**
 * What the last state of a stored sample is to a reader that norms it itself. `speculators` takes
 * the last of a file's states for the target's, after all layers and before the final norm, norms
 * it, and reads the target's words for the next tokens from it.
 *
 * @source  speculators c05b95b, `train/data.py`, `models/dflash/core.py`
 */
import { Failure } from '../failure.ts'
import type { StoredDType } from '../models/hidden-states.ts'
import type { Target } from '../models/target.ts'
import type { RunIdentity } from '../run/identity.ts'
import { readSafetensors, readTensor } from '../safetensors/read.ts'
import { encodeSafetensors } from '../safetensors/write.ts'
import { float32ToBfloat16 } from '../tensor/bfloat16.ts'
import { statesDType } from '../tensor/dtype.ts'
import { hasNonFinite } from '../tensor/finite.ts'
import { float32ToFloat16 } from '../tensor/float16.ts'
import { float32Elements } from '../tensor/tensor.ts'

/** How a sample's last state is laid out. */
export type LastState =
  /** Files go out as they were stored, byte for byte. */
  | { readonly kind: 'as stored' }
  /** It was stored after the final norm, which is undone: divided by the norm's weight. */
  | { readonly kind: 'before the norm'; readonly weight: Float32Array }

const normName = 'model.norm.weight'

/**
 * @param target  undefined: not at hand
 * @throws        Failure `invalid`: the run kept no last state, or that cannot be told without the
 *                target
 */
export async function lastStateOf(
  identity: Pick<RunIdentity, 'captureFinal' | 'layers'>,
  target: Target | undefined,
): Promise<LastState> {
  const { captureFinal, layers } = identity
  if (!target) {
    throw new Failure('invalid', 'whether the last layer was kept cannot be told without target', {
      remedy: 'Name its checkpoint directory with --target, or give --last-as-is.',
    })
  }
  if (captureFinal) return { kind: 'before the norm', weight: await normWeight(target) }
  if (layers.at(-1) === target.layers - 1) return { kind: 'as stored' }
  const facts = `want=${target.layers - 1} as the last of target.layers, or target.captureFinal`
  throw new Failure(
    'invalid',
    `the run kept no last state of its target. ${facts}, found=[${layers.join(', ')}]`,
    {
      remedy:
        'speculators would take the last of those kept for it. Extract with target.captureFinal, ' +
        'or give --last-as-is for another reader.',
    },
  )
}

async function normWeight(target: Target): Promise<Float32Array> {
  const tensor = target.weights.tensors.get(normName)
  if (!tensor) {
    throw new Failure(
      'invalid',
      `the target has no final norm. dir=${target.dir}, want=${normName}`,
    )
  }
  const weight = float32Elements(await readTensor(tensor.file, normName))
  const zero = weight.indexOf(0)
  if (zero < 0) return weight
  const facts = `dir=${target.dir}, tensor=${normName}, at=${zero}`
  throw new Failure('invalid', `the final norm cannot be undone: a weight is 0. ${facts}`, {
    remedy: 'Extract with the last layer as the last of target.layers.',
  })
}

/**
 * A sample's file whose last state is the one before the final norm, up to its length, which the
 * norm takes away again: x / rms(x) for x. Rounded once more to the type that it is stored in.
 *
 * @param bytes  of the file as it was stored, in memory of the caller's own: it is changed
 * @param name   for messages
 * @throws       Failure `corrupt`: no sample of its run; `invalid`: a state is beyond its type
 */
export function beforeNorm(
  bytes: Uint8Array,
  { weight, dtype, name }: { weight: Float32Array; dtype: StoredDType; name: string },
): Uint8Array[] {
  const { metadata, tensors } = readSafetensors(bytes, name)
  const states = tensors.get('hidden_states')
  if (states?.dtype !== statesDType[dtype] || states.shape.at(-1) !== weight.length) {
    throw new Failure('corrupt', `a sample is not of its run. file=${name}`)
  }
  const stateBytes = weight.length * (dtype === 'f32' ? 4 : 2)
  const tokenBytes = stateBytes * (states.shape[1] ?? 0)
  for (let end = tokenBytes; end <= states.data.length; end += tokenBytes) {
    const data = states.data.subarray(end - stateBytes, end)
    const values = float32Elements({ ...states, shape: [weight.length], data })
    const divided = values.map((value, i) => value / weight[i])
    const bytes = new Uint8Array(narrowed[dtype](divided).buffer)
    if (hasNonFinite(bytes, statesDType[dtype])) throw beyond(dtype, name)
    data.set(bytes)
  }
  const captures = metadata.get('captures')?.replace(/final$/, 'before_final_norm')
  return encodeSafetensors([...tensors.values()], {
    ...Object.fromEntries(metadata),
    ...(captures !== undefined && { captures }),
  })
}

/** f16 ends at 65,504, and a norm's weight may be small. */
const beyond = (dtype: StoredDType, name: string): Failure =>
  new Failure('invalid', `a state before the norm has no number in ${dtype}. file=${name}`, {
    remedy: 'Extract with the last layer as the last of target.layers, or give --last-as-is.',
  })

const narrowed: {
  readonly [D in StoredDType]: (values: Float32Array<ArrayBuffer>) => {
    readonly buffer: ArrayBuffer
  }
} = { bf16: float32ToBfloat16, f16: float32ToFloat16, f32: (values) => values }
