/** Where everything worth keeping lies: one interface, whatever holds the bytes. */

/** Bytes that can be sent again: never a one-shot stream, which no client could retry. */
export type Body = Uint8Array | FileBody | PiecesBody

/** A stretch of a file: `length` bytes from `offset`. It must not change while it is sent. */
export interface FileBody {
  readonly path: string
  readonly offset: number
  readonly length: number
}

/** Bytes that lie in several places in memory, `length` in all. They must not change either. */
export interface PiecesBody {
  readonly pieces: readonly Uint8Array[]
  readonly length: number
}

/** What a store says of an object without giving it; `size` in bytes. */
export interface ObjectInfo {
  readonly key: string
  readonly size: number
  /** Milliseconds since the epoch. */
  readonly lastModified: number
  /** As the store gives it, without quotes; for a single-part S3 put usually the MD5 in hex. */
  readonly etag?: string
  /** CRC-32 of the whole object, where the store keeps one. */
  readonly crc32?: number
}

/** What goes with a put. */
export interface PutOptions {
  /**
   * CRC-32 of the body, where the caller has it: sent along, so that the store checks it. A store
   * that does so refuses another body (`corrupt`); `probeConfirmation` tells which does.
   */
  readonly crc32?: number
  readonly signal?: AbortSignal
}

/** What the store says it has taken; absent fields were not said. */
export interface Acknowledgement {
  readonly etag?: string
  readonly crc32?: number
  /** Not the store's word: in hex, of the body as it was sent, where the put had to compute it. */
  readonly sentMd5?: string
}

/** A part that was taken: its number, from 1, and its size in bytes. */
export interface PartRef {
  readonly number: number
  readonly etag: string
  readonly size: number
  /** Of the part, where the store keeps one. */
  readonly crc32?: number
}

/** What one request of a listing brings. */
export interface ListPage {
  /** In order of the keys' bytes. */
  readonly objects: readonly ObjectInfo[]
  /** What to ask for next; absent on the last page. */
  readonly next?: string
}

/** One upload in parts; all but the last have one size, of at least 5 MiB. */
export interface MultipartUpload {
  readonly key: string
  readonly id: string
  /** Milliseconds since the epoch, where the store says when it began. */
  readonly startedAt?: number
  /** Put again under its number, a part takes the place of the one before. */
  putPart(number: number, body: Body, options?: PutOptions): Promise<PartRef>
  /** The parts that were taken so far, by whatever process, in order of their numbers. */
  listParts(): Promise<readonly PartRef[]>
  /**
   * The object appears whole, or not at all. After a try whose answer was lost the store may say
   * that there is no such upload (`invalid`): look at the object then.
   *
   * @param whole  CRC-32 of the object: a store that can compare it refuses another (`corrupt`)
   */
  complete(parts: readonly PartRef[], whole?: { readonly crc32?: number }): Promise<Acknowledgement>
  /** No error where it was completed or aborted. */
  abort(): Promise<void>
}

/**
 * All methods throw Failure: `unavailable` where it may pass, `invalid` where it will not (rights,
 * bucket, settings), `corrupt` where bytes arrived damaged. Keys are relative to the store's URL,
 * `/`-separated, without `.` or `..` parts.
 */
export interface ObjectStore {
  /** As configured, without credentials. */
  readonly url: string
  /** Atomic and durable: afterwards a reader sees all of it. Overwrites. */
  put(key: string, body: Body, options?: PutOptions): Promise<Acknowledgement>
  /**
   * False where the key is taken; after a try whose answer was lost, possibly by that try: read it
   * back and see whose it is. `conditionalPuts()` says whether the store honours conditions at all.
   */
  putIfAbsent(key: string, body: Body, options?: PutOptions): Promise<boolean>
  /** Replaces the object only where its etag is still `etag`; false otherwise, and as above. */
  putIfMatch(key: string, body: Body, etag: string, options?: PutOptions): Promise<boolean>
  /**
   * The object's bytes, or the part [start, end) of them, cut to what is there as `subarray` cuts.
   * Undefined: no such key.
   */
  get(
    key: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<Buffer | undefined>
  head(key: string): Promise<ObjectInfo | undefined>
  /** Every object whose key starts with the prefix, in order of the keys' bytes, however many. */
  list(prefix: string): AsyncIterable<ObjectInfo>
  /** One request's worth of `list`, so that wrappers can count, delay and repeat requests. */
  listPage(ask: { readonly prefix: string; readonly from?: string }): Promise<ListPage>
  /** No error where there is none. */
  remove(key: string): Promise<void>
  startMultipart(key: string): Promise<MultipartUpload>
  /**
   * Uploads that were started and neither completed nor aborted. Some stores find them by their
   * whole key only (MinIO).
   */
  openMultiparts(prefix: string): Promise<readonly MultipartUpload[]>
  close(): void
}
