import { LF, OPEN_BRACE } from '#shared/bytes/ascii';
import { AlmanacError } from '#shared/errors/almanac-error';

import { isItemError } from '../../pipelines/build-error.js';
import type { DocumentTarget } from '../common/document-target.js';
import { isJsonObject, parseJson, type JsonObject, type JsonValue } from '../common/json.js';
import { afterJsonSpace, JsonKind, type JsonTape } from '../common/json-tape.js';
import { RejectedRows } from '../common/rejected-rows.js';
import type { Decoding } from '../protocol.js';

const INDEX_NAME = /^[a-zA-Z_:-][a-zA-Z0-9_:\-.@#]*$/;
const ITEMS_MAX = 1024 * 1024;
const ACTIONS = ['create', 'index'] as const;

/** Options of one request. */
export interface BulkOptions {
  /** Index of actions that name none; undefined if the path names none either. */
  readonly index: string | undefined;
  /** Member that holds the document as text. */
  readonly messageField: string | undefined;
  readonly nowNs: bigint;
}

/** What became of a document. */
export interface BulkItem {
  readonly action: (typeof ACTIONS)[number];
  readonly index: string;
  /** Why it was rejected. */
  readonly error: string | undefined;
}

type BulkAction = Pick<BulkItem, 'action' | 'index'>;

/** Decodes pairs of lines: an action, and a document. */
export class BulkDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly items: BulkItem[] = [];
  readonly #bytes: Buffer;
  readonly #rows: DocumentTarget;
  readonly #options: BulkOptions;
  readonly #tape: JsonTape;
  #at = 0;
  #lineFrom = 0;
  #lineTo = 0;
  /** The action line before, with its result: most are the same. */
  #lastLine: Buffer = Buffer.alloc(0);
  #lastAction: BulkAction | undefined = undefined;

  constructor(bytes: Buffer, rows: DocumentTarget, options: BulkOptions) {
    this.#bytes = bytes;
    this.#rows = rows;
    this.#tape = rows.tape;
    this.#options = options;
  }

  /** @throws `invalid_arguments` if an action is malformed, or has no document. */
  decode(budgetBytes: number): boolean {
    const stop = this.#at + budgetBytes;
    while (this.#at < stop) {
      if (!this.#nextLine()) {
        if (this.items.length === 0) throw malformed('request body is required');
        this.#rows.checkSize();
        return true;
      }
      this.#addItem();
    }
    return false;
  }

  /** Finds the next line that is not blank: `[lineFrom, lineTo)`. @returns whether there is one. */
  #nextLine(): boolean {
    const bytes = this.#bytes;
    while (this.#at < bytes.length) {
      const found = bytes.indexOf(LF, this.#at);
      const end = found < 0 ? bytes.length : found;
      this.#lineFrom = afterJsonSpace(bytes, this.#at, end);
      this.#lineTo = end;
      this.#at = end + 1;
      if (this.#lineFrom < end) return true;
    }
    return false;
  }

  #addItem(): void {
    const { action, index } = this.#readAction(this.#bytes.subarray(this.#lineFrom, this.#lineTo));
    if (!this.#nextLine()) throw malformed('the last action has no document: the body must end with a newline');
    if (this.items.length >= ITEMS_MAX) {
      throw new AlmanacError('invalid_arguments', `request has more than ${ITEMS_MAX} documents`, { http: 413 });
    }
    let error: string | undefined;
    try {
      if (!INDEX_NAME.test(index)) throw malformed(`invalid index name [${index.slice(0, 255)}]`);
      this.#readDocument();
      this.#rows.end(index, this.#options.nowNs);
    } catch (thrown) {
      const failure = AlmanacError.from(thrown);
      if (!isItemError(failure)) throw failure;
      this.#rows.clear();
      error = failure.publicMessage;
      this.rejected.addMalformed(() => failure.publicMessage);
    }
    this.items.push({ action, index, error });
  }

  #readAction(line: Buffer): BulkAction {
    if (this.#lastAction !== undefined && line.equals(this.#lastLine)) return this.#lastAction;
    const action = this.#parseAction(line);
    this.#lastLine = line;
    this.#lastAction = action;
    return action;
  }

  #parseAction(line: Buffer): BulkAction {
    const number = 2 * this.items.length + 1;
    let value: JsonValue;
    try {
      value = parseJson(line);
    } catch (error) {
      throw malformed(`malformed action/metadata line [${number}]: ${AlmanacError.from(error).publicMessage}`);
    }
    const object: JsonObject = isJsonObject(value) ? value : {};
    const action = ACTIONS.find((name) => isJsonObject(object[name]));
    const metadata = action === undefined ? undefined : object[action];
    if (action === undefined || !isJsonObject(metadata)) {
      throw malformed(`malformed action/metadata line [${number}]: use create or index`);
    }
    const named = metadata['_index'] ?? this.#options.index;
    if (typeof named !== 'string' || named === '') throw malformed('missing index in bulk request');
    return { action, index: named };
  }

  /** Reads the document of the line to the tape, and adds its values to the row. */
  #readDocument(): void {
    const tape = this.#tape;
    const bytes = this.#bytes;
    if (bytes[this.#lineFrom] !== OPEN_BRACE) {
      parseJson(bytes.subarray(this.#lineFrom, this.#lineTo));
      throw malformed('document must be an object');
    }
    const end = tape.read(bytes, this.#lineFrom, this.#lineTo);
    if (afterJsonSpace(bytes, end, this.#lineTo) < this.#lineTo) throw malformed('document has text after its object');
    const message = this.#messageOf();
    for (let i = 0; i < tape.count; i++) if (message < 0 || i === message) this.#rows.fieldValue(i);
  }

  /**
   * Returns the position of the value that replaces the document; -1 if all values count. If it is the text of an object,
   * reads that.
   */
  #messageOf(): number {
    const tape = this.#tape;
    const { messageField } = this.#options;
    if (messageField === undefined) return -1;
    const member = tape.root.byKey.get(messageField);
    const isText = (kind: number): boolean => kind === JsonKind.text || kind === JsonKind.escaped;
    const found = tape.members.findIndex((it, i) => i < tape.count && it === member && isText(tape.kinds[i]));
    if (found < 0) return -1;
    const text = Buffer.from(tape.text(found));
    try {
      const end = tape.read(text, 0, text.length);
      if (afterJsonSpace(text, end, text.length) === text.length) return -1;
    } catch {
      // The text is no JSON: it stays a text.
    }
    tape.read(this.#bytes, this.#lineFrom, this.#lineTo);
    return found;
  }
}

function malformed(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
