/**
 * The operators a graph may hold, typed: what each takes and how it is set. Names, order of inputs
 * and attributes are ONNX's own (onnx.ai/onnx/operators), so that a node reads as its specification
 * does. What comes out of one is infer.ts's to say.
 */

import type { Graph } from './graph.ts'

/** Spelled as in safetensors files. */
export type ElementType = 'F32' | 'F16' | 'BF16' | 'I64' | 'I32' | 'U16' | 'BOOL'

/** A fixed length, or the name of one that each run brings anew: `tokens`. */
export type Dim = number | string

export interface TensorType {
  readonly dtype: ElementType
  readonly shape: readonly Dim[]
  /**
   * The integers inside, where they are known while building: what `Reshape` and `Expand` go by.
   */
  readonly holds?: readonly Dim[]
}

export interface Value extends TensorType {
  readonly name: string
}

export type Attribute = number | Float | Text | readonly number[] | ElementType | Body

/** A graph within a node; it may use values of the graph around it as they are. */
interface Body {
  readonly graph: Graph
}

interface Unary {
  readonly inputs: readonly [x: Value]
  readonly attributes: { readonly [name: string]: never }
}

interface Binary {
  readonly inputs: readonly [a: Value, b: Value]
  readonly attributes: { readonly [name: string]: never }
}

interface Conversion {
  readonly inputs: readonly [x: Value]
  readonly attributes: { readonly to: ElementType }
}

/** `axes`: I64, each from 0; afterwards they have length 1, or are gone. */
interface Reduction {
  readonly inputs: readonly [x: Value, axes: Value]
  readonly attributes: { readonly keepdims: 0 | 1 }
}

/**
 * Every operator. Tables over `Op` (infer.ts's, the gradients' in autodiff/rules.ts) do not compile
 * with one left out.
 */
interface Ops {
  readonly Add: Binary
  readonly Sub: Binary
  readonly Mul: Binary
  readonly Div: Binary
  readonly MatMul: Binary
  /** onnxruntime's own: alpha · a b, either transposed in its last two axes. */
  readonly FusedMatMul: {
    readonly inputs: readonly [a: Value, b: Value]
    readonly attributes: { readonly transA: 0 | 1; readonly transB: 0 | 1; readonly alpha: Float }
  }
  readonly Neg: Unary
  readonly Exp: Unary
  readonly Log: Unary
  readonly Sqrt: Unary
  readonly Reciprocal: Unary
  readonly Sigmoid: Unary
  readonly Tanh: Unary
  readonly Cos: Unary
  readonly Sin: Unary
  readonly Softmax: {
    readonly inputs: readonly [x: Value]
    readonly attributes: { readonly axis: number }
  }
  readonly ReduceSum: Reduction
  readonly ReduceMean: Reduction
  readonly ReduceMax: Reduction
  readonly Equal: Binary
  readonly Less: Binary
  readonly LessOrEqual: Binary
  /**
   * Runs its body `times` times, an I64 scalar known while building. The body's inputs are the
   * iteration from 0 (I64 scalar), a condition (BOOL scalar) and what is carried; its outputs the
   * condition again, what is carried on, and what is gathered of each iteration. Outputs: what was
   * carried at last, and what was gathered, [times, …].
   */
  readonly Loop: {
    readonly inputs: readonly [times: Value, condition: undefined, ...carried: Value[]]
    readonly attributes: { readonly body: Body }
  }
  readonly And: Binary
  readonly Not: Unary
  readonly Where: {
    readonly inputs: readonly [condition: Value, yes: Value, no: Value]
    readonly attributes: { readonly [name: string]: never }
  }
  /** The place of the greatest along an axis, the first of equals; the axis stays with length 1. */
  readonly ArgMax: {
    readonly inputs: readonly [x: Value]
    readonly attributes: { readonly axis: number; readonly keepdims: 1 }
  }
  /** To the nearest value of the other type, ties to even. */
  readonly Cast: Conversion
  /** The same bits under another type of the same width. */
  readonly BitCast: Conversion
  readonly Gather: {
    readonly inputs: readonly [data: Value, indices: Value]
    readonly attributes: { readonly axis: number }
  }
  /** One element of `data` for each of `indices`, which replace the place along the axis. */
  readonly GatherElements: {
    readonly inputs: readonly [data: Value, indices: Value]
    readonly attributes: { readonly axis: number }
  }
  /** `data`, whose rows named by `indices` [rows, 1] those of `updates` replace, or add to. */
  readonly ScatterND: {
    readonly inputs: readonly [data: Value, indices: Value, updates: Value]
    readonly attributes: { readonly reduction: Text<'add' | 'none'> }
  }
  readonly Concat: {
    readonly inputs: readonly [first: Value, ...more: Value[]]
    readonly attributes: { readonly axis: number }
  }
  /** One output for each length in `lengths`. */
  readonly Split: {
    readonly inputs: readonly [x: Value, lengths: Value]
    readonly attributes: { readonly axis: number }
  }
  /** From `starts` up to, without, `ends`; bounds from 0, none beyond the axis. */
  readonly Slice: {
    readonly inputs: readonly [x: Value, starts: Value, ends: Value, axes: Value]
    readonly attributes: { readonly [name: string]: never }
  }
  readonly Transpose: {
    readonly inputs: readonly [x: Value]
    readonly attributes: { readonly perm: readonly number[] }
  }
  /** In `shape`, 0 copies the dimension at its place and one -1 takes what is left. */
  readonly Reshape: Binary
  /** Drops every dimension of length 1; all lengths are known while building. */
  readonly Squeeze: Unary
  /** The lengths of dimensions [start, end), as an I64 vector. */
  readonly Shape: {
    readonly inputs: readonly [x: Value]
    readonly attributes: { readonly start: number; readonly end: number }
  }
  readonly Expand: Binary
  readonly Range: {
    readonly inputs: readonly [start: Value, limit: Value, delta: Value]
    readonly attributes: { readonly [name: string]: never }
  }
  /** Over the last axis. */
  readonly RMSNormalization: {
    readonly inputs: readonly [x: Value, scale: Value]
    readonly attributes: { readonly epsilon: Float }
  }
  /** onnxruntime's own RMS norm over the last axis; its second output is 1 / √(mean(x²) + ε). */
  readonly SimplifiedLayerNormalization: {
    readonly inputs: readonly [x: Value, scale: Value]
    readonly attributes: { readonly axis: -1; readonly epsilon: Float; readonly stash_type: 1 }
  }
  /** onnxruntime's own: turns the heads of x [batch, tokens, heads · headDim], halves apart. */
  readonly RotaryEmbedding: {
    readonly inputs: readonly [
      x: Value,
      /** I64 [batch, tokens]. */
      positions: Value,
      /** [positions, headDim / 2]. */
      cosCache: Value,
      sinCache: Value,
    ]
    readonly attributes: {
      readonly num_heads: number
      readonly rotary_embedding_dim: number
      readonly interleaved: 0
    }
  }
  /**
   * onnxruntime's own: causal attention of `num_heads` queries over `kv_num_heads` keys and values.
   */
  readonly GroupQueryAttention: {
    readonly inputs: readonly [
      query: Value,
      key: Value,
      value: Value,
      /**
       * [batch, kv_num_heads, capacity, headDim], of which the first positions are read: as many as
       * the lengths leave for what went before. No shorter than a row is with what comes now.
       */
      pastKey: Value | undefined,
      pastValue: Value | undefined,
      /** I32 [batch]: the length of each row less one, what went before included. */
      seqlensK: Value,
      /** I32 scalar. */
      totalSequenceLength: Value,
      /** [positions, headDim / 2], of every position from 0, in the precision of the query. */
      cosCache: Value,
      sinCache: Value,
    ]
    readonly attributes: {
      readonly num_heads: number
      readonly kv_num_heads: number
      readonly do_rotary: 0 | 1
      readonly scale: Float
    }
  }
}

/** A float attribute, told from an integer one even where its value is whole. */
export interface Float {
  readonly float: number
}

/** A word, told from the name of an element type. */
interface Text<T extends string = string> {
  readonly text: T
}

export type Op = keyof Ops
export type InputsOf<O extends Op> = Ops[O]['inputs']
export type AttributesOf<O extends Op> = Ops[O]['attributes']

/** `f32[batch, tokens, 64]`: for messages. */
export const describe = ({ dtype, shape }: TensorType): string =>
  `${dtype.toLowerCase()}[${shape.join(', ')}]`
