/** A graph as an ONNX file: protobuf by onnx-buf, weights as external data where they lie. */
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import {
  type AttributeProto,
  AttributeProto_AttributeType,
  AttributeProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  type NodeProtoSchema,
  TensorProto_DataLocation,
  TensorProto_DataType,
  type TensorProtoSchema,
  type ValueInfoProtoSchema,
} from 'onnx-buf'
import type { Graph, Initializer } from './graph.ts'
import { reachable } from './live.ts'
import type { Attribute, ElementType, Op, Value } from './ops.ts'
import { inRunOrder } from './run-order.ts'
import type { Node } from './tape.ts'

/** The first version of the format and of the operators that has `BitCast`. */
const newest = { ir: 13n, opset: 26n }
/** Whose `Transpose` runs on WebGPU, and whose cosines, inexact there, on the processor. */
const ofWebgpu = { ir: 11n, opset: 24n }
const contribDomain = 'com.microsoft'

const contribOps: ReadonlySet<Op> = new Set([
  'FusedMatMul',
  'GroupQueryAttention',
  'RotaryEmbedding',
])

const dataTypes: { readonly [E in ElementType]: TensorProto_DataType } = {
  F32: TensorProto_DataType.FLOAT,
  F16: TensorProto_DataType.FLOAT16,
  BF16: TensorProto_DataType.BFLOAT16,
  I64: TensorProto_DataType.INT64,
  I32: TensorProto_DataType.INT32,
  U16: TensorProto_DataType.UINT16,
  BOOL: TensorProto_DataType.BOOL,
}

/**
 * What no output needs is left out, inputs apart.
 *
 * @param version  of the operators: `webgpu` for graphs without `BitCast`
 * @returns  the bytes of an .onnx file, the same for the same graph; weights files are expected
 *           beside it, under their names: onnxruntime takes no other folder's
 * @source   onnx/docs/IR.md, onnx/docs/ExternalData.md
 */
export function encodeGraph(graph: Graph, version: 'newest' | 'webgpu' = 'newest'): Uint8Array {
  const { ir: irVersion, opset } = version === 'newest' ? newest : ofWebgpu
  const model = create(ModelProtoSchema, {
    irVersion,
    producerName: 'draftsmith',
    opsetImport: [
      { domain: '', version: opset },
      { domain: contribDomain, version: 1n },
    ],
    graph: graphOf(graph, 'draftsmith'),
  })
  return toBinary(ModelProtoSchema, model)
}

/** @param around  of the graph around it, whose values it may use */
function graphOf(
  graph: Graph,
  name: string,
  around: Names = new Map(),
): MessageInitShape<typeof GraphProtoSchema> {
  const { nodes, initializers } = reachable(graph)
  const { names: own, copies } = outputNames(graph, nodes)
  const names = new Map([...around, ...own])
  return {
    name,
    input: graph.inputs.map((value) => valueInfo(value.name, value)),
    initializer: initializers.map(tensor),
    node: [
      ...inRunOrder(nodes).map((one) => node(one, names)),
      ...copies.map((one) => copyNode(one, names)),
    ],
    output: graph.outputs.map(({ name, value }) => valueInfo(name, value)),
  }
}

function valueInfo(name: string, value: Value): MessageInitShape<typeof ValueInfoProtoSchema> {
  const dim = value.shape.map((length) =>
    typeof length === 'number'
      ? { value: { case: 'dimValue' as const, value: BigInt(length) } }
      : { value: { case: 'dimParam' as const, value: length } },
  )
  const elemType = dataTypes[value.dtype]
  return { name, type: { value: { case: 'tensorType', value: { elemType, shape: { dim } } } } }
}

function tensor({ value, data }: Initializer): MessageInitShape<typeof TensorProtoSchema> {
  const dims = value.shape.map((length) => BigInt(length))
  const facts = { name: value.name, dataType: dataTypes[value.dtype], dims }
  if (data instanceof Uint8Array) return { ...facts, rawData: Uint8Array.from(data) }
  return {
    ...facts,
    dataLocation: TensorProto_DataLocation.EXTERNAL,
    externalData: [
      { key: 'location', value: data.name },
      { key: 'offset', value: String(data.offset) },
      { key: 'length', value: String(data.bytes) },
    ],
  }
}

/** What values are called in the file, where that is not their name in the graph. */
type Names = ReadonlyMap<string, string>

/**
 * What leaves the graph has the output's name from the start: a node that renames would copy. Only
 * what no node computes, or what leaves the graph twice, is copied.
 */
function outputNames(
  graph: Graph,
  nodes: readonly Node[],
): { readonly names: Names; readonly copies: Graph['outputs'] } {
  const computed = new Set(nodes.flatMap(({ outputs }) => outputs.map(({ name }) => name)))
  const names = new Map<string, string>()
  const copies = graph.outputs.filter(({ name, value }) => {
    if (!computed.delete(value.name)) return true
    names.set(value.name, name)
    return false
  })
  return { names, copies }
}

function node(
  { name, op, inputs, attributes, outputs }: Node,
  names: Names,
): MessageInitShape<typeof NodeProtoSchema> {
  const nameOf = (value: Value) => names.get(value.name) ?? value.name
  return {
    name,
    opType: op,
    domain: contribOps.has(op) ? contribDomain : '',
    input: inputs.map((input) => (input ? nameOf(input) : '')),
    output: outputs.map(nameOf),
    attribute: Object.entries(attributes).map(([key, value]) => attribute(key, value, names)),
  }
}

const copyNode = ({ name, value }: { name: string; value: Value }, names: Names) => ({
  name: `output:${name}`,
  opType: 'Identity',
  input: [names.get(value.name) ?? value.name],
  output: [name],
})

function attribute(name: string, value: Attribute, names: Names): AttributeProto {
  const types = AttributeProto_AttributeType
  if (typeof value === 'number') return attributeProto({ name, type: types.INT, i: BigInt(value) })
  if (typeof value === 'string') {
    return attributeProto({ name, type: types.INT, i: BigInt(dataTypes[value]) })
  }
  if ('graph' in value) {
    const g = create(GraphProtoSchema, graphOf(value.graph, name, names))
    return attributeProto({ name, type: types.GRAPH, g })
  }
  if ('text' in value) {
    return attributeProto({ name, type: types.STRING, s: Buffer.from(value.text) })
  }
  if ('float' in value) return attributeProto({ name, type: types.FLOAT, f: value.float })
  return attributeProto({ name, type: types.INTS, ints: value.map(BigInt) })
}

const attributeProto = (init: MessageInitShape<typeof AttributeProtoSchema>) =>
  create(AttributeProtoSchema, init)
