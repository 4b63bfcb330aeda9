/**
 * What the library offers, name by name: all that a sample meets on its way from a dataset to a
 * store, without actors, threads or messages. What is not named here may change at any time.
 */

// What is expected to go wrong; time and chance, passed in wherever something waits or chooses.

export { type Clock, type Random, SimulatedClock, seededRandom, systemClock } from './clock.ts'
export { explain, Failure, type FailureKind, isFailure } from './failure.ts'

// A tokenized dataset on disk: read lazily, planned as batches, told from others, written.

export type { ColumnNames } from './dataset/columns.ts'
export { contentHash, datasetFingerprint } from './dataset/fingerprint.ts'
export type { Sample, SkipReason, Unusable } from './dataset/open-batch.ts'
export { type Plan, type PlanOptions, planBatches } from './dataset/plan.ts'
export { RowHashes } from './dataset/row-hashes.ts'
export type { Dataset, DatasetFile } from './dataset/rows.ts'
export { type OpenOptions, openDataset } from './dataset/shards.ts'
export { type Limits, usable } from './dataset/usable.ts'
export {
  type DatasetRow,
  type WriteDatasetOptions,
  type WrittenDataset,
  writeDataset,
} from './dataset/write.ts'

// A target model: its checkpoint, the layers worth keeping, the graph that gives them.

export type { Graph } from './graph/graph.ts'
export type { Family, TargetConfig } from './models/config.ts'
export {
  type Captures,
  captureNames,
  hiddenStatesGraph,
  type StoredDType,
} from './models/hidden-states.ts'
export { type RandomTarget, writeRandomTarget } from './models/random-target.ts'
export { openTarget, type Target } from './models/target.ts'
export { targetLayerIds } from './models/target-layers.ts'
export type { Weights, WeightsFile } from './models/weights.ts'

// A drafter: its configuration and parameters, whether it fits a target, the graph that drafts.

export { draftGraph } from './models/draft-graph.ts'
export { DraftVocab, mostFrequent } from './models/draft-vocab.ts'
export { type Drafter, openDrafter } from './models/drafter.ts'
export { type DrafterConfig, parseDrafterConfig } from './models/drafter-config.ts'
export { drafterConfigJson } from './models/drafter-config-json.ts'
export {
  captureSlots,
  type DrafterChoice,
  drafterConfigOf,
  requireSameTarget,
} from './models/drafter-fit.ts'
export { type DrafterTensor, drafterTensors, initialDrafter } from './models/drafter-tensors.ts'

// What it learns from: blocks of a batch, the graph of loss and gradients, what would be accepted.

export { gradients } from './autodiff/backward.ts'
export type { Distillation } from './autodiff/head-loss.ts'
export {
  type Acceptance,
  acceptanceLength,
  acceptanceOf,
  accuracy,
  addAcceptance,
} from './training/acceptance.ts'
export type { AnchorOptions, AnchorRule } from './training/anchors.ts'
export type { BatchShape } from './training/block-rows.ts'
export {
  type BlockOptions,
  type Blocks,
  drawBlocks,
  type Laying,
  layBlocks,
  type Normalization,
  normalizeWeights,
  type SampleTokens,
} from './training/blocks.ts'
export {
  gradientName,
  type LossGraphOptions,
  lossGraph,
} from './training/loss-graph.ts'

// Running a graph, on a thread that may be ended at any moment.

export type { Feed, Feeds } from './session/feed.ts'
export { Gate } from './session/gate.ts'
export { type Copied, prepareModel } from './session/prepare.ts'
export { openSession, type Session, type SessionOptions } from './session/session.ts'

// Tensors, and the files that hold them.

export type { SafetensorsHeader, TensorInfo } from './safetensors/header.ts'
export {
  openSafetensors,
  readSafetensors,
  readTensor,
  type Safetensors,
  type SafetensorsFile,
} from './safetensors/read.ts'
export { crc32OfParts, encodeSafetensors, type TensorToWrite } from './safetensors/write.ts'
export { bfloat16ToFloat32, float32ToBfloat16 } from './tensor/bfloat16.ts'
export type { DType } from './tensor/dtype.ts'
export { float16ToFloat32, float32ToFloat16 } from './tensor/float16.ts'
export { elements, float32Elements, type Tensor } from './tensor/tensor.ts'

// Finished samples that wait on local disk.

export type { SpooledSample } from './spool/name.ts'
export { type Recovered, type RecoverProgress, recoverSpool } from './spool/recover.ts'
export {
  type FinishedSample,
  freeBytes,
  openSpool,
  type Spool,
  type SpoolListing,
} from './spool/spool.ts'

// Object stores of one contract, and what may go around each of their requests.

export { conditionalPuts } from './store/conditional.ts'
export { confirm, type Rung, type Sent } from './store/confirm.ts'
export { type Acquire, limited, type Outcome, type Release } from './store/limited.ts'
export { MemoryStore } from './store/memory.ts'
export { openStore } from './store/open.ts'
export { type FileToPut, type PartSizes, putFile } from './store/put-file.ts'
export { type Retry, type RetryOptions, retrying } from './store/retry.ts'
export type { S3Options, S3Timeouts } from './store/s3-connection.ts'
export type {
  Acknowledgement,
  Body,
  FileBody,
  ListPage,
  MultipartUpload,
  ObjectInfo,
  ObjectStore,
  PartRef,
  PutOptions,
} from './store/store.ts'

// Training data: what is held out, in which order the rest comes, what a batch holds.

export { type DataState, dataState, parseDataState } from './feed/data-state.ts'
export { type HeldOutPrompt, heldOutPrompts } from './feed/held-out-prompts.ts'
export { OrderLog } from './feed/order-log.ts'
export { isHeldOut, makeSplit, type Split } from './feed/split.ts'
export type { TrainingBatch } from './feed/training-batch.ts'

// Checkpoints of a training: saved whole, or not there.

export type { Expected } from './checkpoint/accept.ts'
export type { Half, WholeCheckpoint } from './checkpoint/list.ts'
export { type Restored, restoreNamed, restoreNewest } from './checkpoint/restore.ts'
export { type SaveOptions, saveCheckpoint } from './checkpoint/save.ts'
export type { CheckpointState, TrainingProgress } from './checkpoint/state.ts'
export type { TrainedTensor, TrainingState } from './checkpoint/tensors.ts'

// The record of what is stored, and the lock of who may go on with it.

export type { Compacted, NeedlessFile } from './manifest/compact.ts'
export type { EntryRows, ManifestEntry } from './manifest/entry.ts'
export {
  type Holder,
  isAlive,
  type LockIdentity,
  type ProcessMark,
  thisHolder,
} from './manifest/holder.ts'
export { parseSampleKey, sampleKey } from './manifest/key.ts'
export { acquireLock, type LockOptions, type LockWait, type ManifestLock } from './manifest/lock.ts'
export { type Manifest, type ManifestOptions, openManifest } from './manifest/log.ts'
export { missingRows } from './manifest/missing.ts'
export { newWriterId } from './manifest/names.ts'
export { EntryTable } from './manifest/table.ts'
