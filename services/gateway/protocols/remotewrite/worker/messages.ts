/** Words of one row: number of its series, low and high half of its value, and of its time. */
export const ROW_WORDS = 5;

/** What the helper thread is told. */
export type ToHelper =
  /** Series of a cache, numbered from `first` on: their labels one behind the other. */
  | {
      readonly kind: 'learn';
      readonly cache: number;
      readonly first: number;
      readonly lengths: Uint32Array;
      readonly labels: Uint8Array;
    }
  | { readonly kind: 'forget'; readonly cache: number }
  /** A body of version 1, compressed. */
  | { readonly kind: 'body'; readonly cache: number; readonly id: number; readonly packed: Uint8Array };

/** Its answer to a body; without rows if the body is not what bodies usually are, whether right or wrong. */
export interface FromHelper {
  readonly id: number;
  readonly rowCount: number;
  readonly words: Int32Array<ArrayBuffer> | undefined;
}
