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
  /** Memory for bodies and their rows, from now on. */
  | { readonly kind: 'memory'; readonly slot: number; readonly memory: SharedArrayBuffer }
  | { readonly kind: 'free'; readonly slot: number }
  /** A compressed body of version 1: the first `length` bytes of the memory of the slot. */
  | {
      readonly kind: 'match';
      readonly cache: number;
      readonly id: number;
      readonly slot: number;
      readonly length: number;
    };

/** The reply to a body, whose rows are in the memory of its slot. */
export interface WorkerReply {
  readonly id: number;
  /** 0 if the body has anything but known series with one sample each, valid or not, or more rows than its slot. */
  readonly rowCount: number;
}
