/**
 * onnxruntime-node 1.30 copies each output that it returns into new memory, one that lies in the
 * caller's memory too: gradients of 60 million parameters cost a tenth of a second and 330 MB that
 * way, and nobody reads the copies. It makes them after the run, in the order of the graph's
 * outputs, and throws at the first that is no tensor. So such an output is put before the others:
 * by the time of the throw, all of them are computed and lie where they are wanted.
 *
 * A release that hands back what it was given returns without a throw, which is right as well.
 */
import { create, toBinary } from '@bufbuild/protobuf'
import { ModelProtoSchema, TensorProto_DataType } from 'onnx-buf'

/** To be fetched with the others, into no memory. */
export const withheldOutput = 'withheld'

/** How the library says that an output is no tensor: nothing else tells it from other errors. */
const noTensor = 'Non tensor type is temporarily not supported.'

/**
 * @param model  an encoded graph
 * @returns      the same, with an empty sequence as its first output
 */
export function withholdOutputs(model: Uint8Array): Uint8Array {
  const elemType = {
    value: { case: 'tensorType' as const, value: { elemType: TensorProto_DataType.FLOAT } },
  }
  const first = create(ModelProtoSchema, {
    graph: {
      node: [{ name: withheldOutput, opType: 'SequenceEmpty', output: [withheldOutput] }],
      output: [
        {
          name: withheldOutput,
          type: { value: { case: 'sequenceType', value: { elemType } } },
        },
      ],
    },
  })
  // Messages one after another are read as one: their lists are joined, in that order.
  return Buffer.concat([toBinary(ModelProtoSchema, first), model])
}

/** Whether a run has thrown only because it was not to return anything. */
export const isWithheld = (error: unknown): boolean =>
  error instanceof Error && error.message === noTensor
