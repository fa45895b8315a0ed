/** Words of one row: number of its series, value and time, each of these with the low word first. */
export const ROW_WORDS = 5;

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
  readonly rowCount: number;
  readonly words: Int32Array<ArrayBuffer> | undefined;
}
