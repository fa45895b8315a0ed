import type { JsonTape } from './json-tape.js';

/** Takes the JSON documents of a request, one after the other. */
export interface DocumentTarget {
  /** The values of the current document. */
  readonly tape: JsonTape;
  /** Adds a tag to the next row. */
  tag(name: string, value: string): void;
  /** Adds a value of the tape to the next row, as a tag. */
  tagValue(index: number): void;
  /** Adds a value of the tape to the next row, as a field. */
  fieldValue(index: number): void;
  /** Adds a field that is not read from the tape. */
  textField(name: string, text: string): void;
  /** Discards what was added to the next row. */
  clear(): void;
  /** Ends the row with its time in nanoseconds. @throws `invalid_arguments` if it does not fit. */
  end(table: string, time: bigint): void;
  /** Checks the size of the request. @throws `invalid_arguments`. */
  checkSize(): void;
}
