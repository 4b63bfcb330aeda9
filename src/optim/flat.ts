/**
 * Parameters and all that belongs to each, as flat regions of one memory: a native library reads
 * and writes tensors there through views, and WebAssembly runs over them without a copy.
 */
import { Failure } from '../failure.ts'
import { hasNonFinite } from '../tensor/finite.ts'
import { type Kernels, kernelsWithMemory, memoryBytesMax, paddedTo } from './kernels.ts'

/** In the order in which they lie. */
const regions = ['parameters', 'gradients', 'addends', 'firstMoments', 'secondMoments'] as const

/**
 * `gradients` are those of a whole step; `addends` those of one more micro-batch of it, to be added
 * to them. A region that nobody writes takes no memory.
 */
export type Region = (typeof regions)[number]

export interface NamedShape {
  readonly name: string
  readonly shape: readonly number[]
}

/** Where one tensor lies, in every region. */
export interface Place {
  readonly name: string
  readonly kernels: Kernels
  /** In floats, zeros at the end included. */
  readonly padded: number
  /** In bytes. */
  address(region: Region): number
  /** Its elements alone. */
  view(region: Region): Float32Array
}

/** Of what is wrong with a checkpoint, in one message. */
const shownMax = 8

const floatBytes = Float32Array.BYTES_PER_ELEMENT

/** Named float32 tensors, five times over. Where one memory is too small, several hold them. */
export class FlatTensors {
  /** In the order given. */
  readonly places: readonly Place[]
  readonly #byName: ReadonlyMap<string, Place>

  /**
   * @param bytesMax  of one memory
   * @throws          Failure `invalid`: a name is there twice, or a tensor fits no memory
   */
  constructor(tensors: readonly NamedShape[], bytesMax: number = memoryBytesMax) {
    this.places = grouped(tensors, bytesMax).flatMap(placesOf)
    this.#byName = new Map(this.places.map((place) => [place.name, place]))
    if (this.#byName.size < tensors.length) {
      const names = tensors.map(({ name }) => name)
      const twice = names.find((name, i) => names.indexOf(name) < i)
      throw new Failure('invalid', `two tensors of one name. name=${twice}`)
    }
  }

  /** A tensor's elements, row-major: a view, the same memory for as long as this lives. */
  view(region: Region, name: string): Float32Array {
    const place = this.#byName.get(name)
    if (!place) throw new Failure('invalid', `no such tensor. name=${name}`)
    return place.view(region)
  }

  /**
   * Overwrites a whole region.
   *
   * @throws  Failure `invalid`: a tensor is missing, too many, of another size, or holds a value
   *          that is not finite. Nothing is written then
   */
  fill(region: Region, tensors: ReadonlyMap<string, Float32Array>): void {
    const problems = [
      ...this.places.flatMap(({ name, view }) => problemOf(name, view(region), tensors.get(name))),
      ...[...tensors.keys()].flatMap((name) => (this.#byName.has(name) ? [] : [`extra ${name}`])),
    ]
    if (problems.length > 0) {
      const more = problems.length > shownMax ? `; ${problems.length - shownMax} more` : ''
      const facts = `region=${region}, problems=${problems.slice(0, shownMax).join('; ')}${more}`
      throw new Failure('invalid', `tensors are not those that are trained. ${facts}`, {
        remedy: 'Give those of a checkpoint with the same configuration.',
      })
    }
    for (const { name, view } of this.places) view(region).set(tensors.get(name) ?? [])
  }
}

function problemOf(name: string, place: Float32Array, found: Float32Array | undefined): string[] {
  if (!found) return [`missing ${name}`]
  if (found.length !== place.length) return [`${name} of ${found.length} for ${place.length}`]
  const bytes = new Uint8Array(found.buffer, found.byteOffset, found.byteLength)
  return hasNonFinite(bytes, 'F32') ? [`${name} not finite`] : []
}

interface Sized {
  readonly name: string
  readonly elements: number
  readonly padded: number
}

/** Each as many whole tensors as fit one memory, in their order. */
function grouped(tensors: readonly NamedShape[], bytesMax: number): Sized[][] {
  const floatsMax = Math.floor(bytesMax / (regions.length * floatBytes))
  const groups: Sized[][] = []
  let left = 0
  for (const { name, shape } of tensors) {
    const elements = shape.reduce((a, b) => a * b, 1)
    const padded = Math.ceil(elements / paddedTo) * paddedTo
    if (padded > floatsMax) {
      const facts = `tensor=${name}, want=${floatsMax} elements at most, found=${elements}`
      throw new Failure('invalid', `a tensor is too large to be trained. ${facts}`)
    }
    if (padded > left) {
      groups.push([])
      left = floatsMax
    }
    groups[groups.length - 1].push({ name, elements, padded })
    left -= padded
  }
  return groups
}

function placesOf(group: readonly Sized[]): Place[] {
  const regionBytes = group.reduce((sum, { padded }) => sum + padded, 0) * floatBytes
  const { kernels, buffer } = kernelsWithMemory(regions.length * regionBytes)
  let offset = 0
  return group.map(({ name, elements, padded }) => {
    const start = offset
    offset += padded * floatBytes
    const address = (region: Region) => regions.indexOf(region) * regionBytes + start
    const views = new Map(
      regions.map((region) => [region, new Float32Array(buffer, address(region), elements)]),
    )
    const view = (region: Region) => views.get(region) ?? new Float32Array()
    return { name, kernels, padded, address, view }
  })
}
