import { isUtf8 } from 'node:buffer';

import type { LineGroup, Multiline } from '../../pipelines/document/multiline.js';
import type { DocumentTarget } from '../common/document-target.js';
import { RejectedRows } from '../common/rejected-rows.js';
import type { Decoding } from '../protocol.js';
import { splunkError } from './codes.js';

const MESSAGE = 'message';

/** Options of a body of text. */
export interface RawOptions {
  readonly table: string;
  /** Tags of all its events. */
  readonly tags: readonly (readonly [name: string, value: string])[];
  readonly timeNs: bigint;
  /** Text between events; undefined if the body is one event. */
  readonly lineBreaker: string | undefined;
  /** Joins lines to events where there is no line breaker. */
  readonly multiline: Multiline | undefined;
}

/** Decodes a body of text to one event, or to several. */
export class RawDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly #bytes: Buffer;
  readonly #rows: DocumentTarget;
  readonly #options: RawOptions;
  #at = 0;
  #count = 0;

  constructor(bytes: Buffer, rows: DocumentTarget, options: RawOptions) {
    this.#bytes = bytes;
    this.#rows = rows;
    this.#options = options;
  }

  /** @throws an error with a code of the event collector if the body has no event, or is not UTF-8. */
  decode(budgetBytes: number): boolean {
    const bytes = this.#bytes;
    if (this.#at === 0 && !isUtf8(bytes)) throw splunkError(6);
    const stop = this.#at + budgetBytes;
    while (this.#at < stop && this.#at < bytes.length) {
      const { from, to, next } = this.#group();
      this.#add(bytes.toString('utf8', from, to));
      this.#at = next;
    }
    if (this.#at < bytes.length) return false;
    if (this.#count === 0) throw splunkError(5);
    this.#rows.checkSize();
    return true;
  }

  /** Returns the next event. */
  #group(): LineGroup {
    const bytes = this.#bytes;
    const from = this.#at;
    const { lineBreaker, multiline } = this.#options;
    const rest = { from, to: bytes.length, next: bytes.length };
    if (lineBreaker === undefined) {
      return multiline === undefined ? rest : (multiline.groupAt(bytes, from) ?? rest);
    }
    const found = bytes.indexOf(lineBreaker, from);
    return found < 0 ? rest : { from, to: found, next: found + Buffer.byteLength(lineBreaker) };
  }

  #add(text: string): void {
    if (text.trim() === '') return;
    const { table, tags, timeNs } = this.#options;
    for (const [name, value] of tags) this.#rows.tag(name, value);
    this.#rows.textField(MESSAGE, text);
    this.#rows.end(table, timeNs);
    this.#count++;
  }
}
