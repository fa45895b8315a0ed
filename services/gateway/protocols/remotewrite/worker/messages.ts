/** The samples of a body, as views of one buffer. */
export interface MatchedRows {
  readonly rowCount: number;
  /** Milliseconds since 1970. */
  readonly times: BigInt64Array<ArrayBuffer>;
  readonly values: Float64Array<ArrayBuffer>;
  /** Number of each sample's series in the cache. */
  readonly numbers: Uint32Array<ArrayBuffer>;
}

/** A message to the worker thread. */
export type WorkerRequest =
  /** Series of a cache, numbered from `first` on, with their labels joined. */
  | {
      readonly kind: 'add';
      readonly cache: number;
      readonly first: number;
      readonly lengths: Uint32Array;
      readonly labels: Uint8Array;
    }
  | { readonly kind: 'drop'; readonly cache: number }
  /** A compressed body of version 1. */
  | { readonly kind: 'match'; readonly cache: number; readonly id: number; readonly bytes: Uint8Array };

/** The reply to a body; without rows if the body has anything but known series with one sample each, valid or not. */
export interface WorkerReply {
  readonly id: number;
  readonly rows: MatchedRows | undefined;
}
