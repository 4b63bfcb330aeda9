import { types } from 'node:util'

/**
 * What a message really carries. A structured clone of a view takes the whole buffer beneath it: a
 * 100-byte view of 1 MiB sends 1 MiB. So views that show a part of their buffer are copied first.
 * Messages are trees of plain objects, arrays, maps and sets; anything else is sent as it is.
 */

/** The value, or a copy of it in which each view spans its buffer, those in `given` aside. */
export function compact(value: unknown, given: ReadonlySet<unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (ArrayBuffer.isView(value)) return compactView(value, given)
  if (Array.isArray(value)) return compactArray(value, given)
  if (value instanceof Map) {
    return new Map([...value].map(([key, item]) => [compact(key, given), compact(item, given)]))
  }
  if (value instanceof Set) return new Set([...value].map((item) => compact(item, given)))
  return isPlain(value) ? compactObject(value, given) : value
}

function compactView(view: ArrayBufferView, given: ReadonlySet<unknown>): ArrayBufferView {
  if (view.byteLength === view.buffer.byteLength) return view
  if (given.has(view.buffer) || types.isSharedArrayBuffer(view.buffer)) return view
  // Not `slice`: a Buffer's does not copy.
  if (types.isUint8Array(view)) return new Uint8Array(view)
  if (types.isTypedArray(view)) return view.slice()
  return new DataView(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength))
}

/** Copies only where an item changed: most messages hold no view at all. */
function compactArray(items: readonly unknown[], given: ReadonlySet<unknown>): readonly unknown[] {
  let copy: unknown[] | undefined
  for (let i = 0; i < items.length; i++) {
    const small = compact(items[i], given)
    if (small === items[i]) continue
    copy ??= [...items]
    copy[i] = small
  }
  return copy ?? items
}

function compactObject(value: Plain, given: ReadonlySet<unknown>): object {
  let copy: Plain | undefined
  for (const key of Object.keys(value)) {
    const item = value[key]
    const small = compact(item, given)
    if (small === item) continue
    copy ??= { ...value }
    copy[key] = small
  }
  return copy ?? value
}

type Plain = Record<string, unknown>

function isPlain(value: object): value is Plain {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * Those of the offered buffers that the value's views show whole, together. Giving a buffer away
 * empties every view on it, the sender's others too, so one shown in part is copied instead.
 */
export function wholly<T>(value: unknown, offered: readonly T[]): readonly T[] {
  if (offered.length === 0) return offered
  const shown = new Map<unknown, number>()
  tally(value, shown)
  return offered.filter(
    (item) => !(item instanceof ArrayBuffer) || (shown.get(item) ?? 0) >= item.byteLength,
  )
}

function tally(value: unknown, shown: Map<unknown, number>): void {
  if (typeof value !== 'object' || value === null) return
  if (value instanceof ArrayBuffer) shown.set(value, value.byteLength)
  else if (ArrayBuffer.isView(value)) {
    shown.set(value.buffer, (shown.get(value.buffer) ?? 0) + value.byteLength)
  } else if (Array.isArray(value) || value instanceof Set) {
    for (const item of value) tally(item, shown)
  } else if (value instanceof Map) {
    for (const [key, item] of value) {
      tally(key, shown)
      tally(item, shown)
    }
  } else if (isPlain(value)) {
    for (const item of Object.values(value)) tally(item, shown)
  }
}
