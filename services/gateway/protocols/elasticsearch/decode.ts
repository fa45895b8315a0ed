import { LF } from '#shared/bytes/ascii';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { DocumentRows } from '../common/document-rows.js';
import { isJsonObject, parseJson, type JsonObject, type JsonValue } from '../common/json.js';
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

/** Decodes pairs of lines: an action, and a document. */
export class BulkDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly items: BulkItem[] = [];
  readonly #bytes: Buffer;
  readonly #rows: DocumentRows;
  readonly #options: BulkOptions;
  #at = 0;

  constructor(bytes: Buffer, rows: DocumentRows, options: BulkOptions) {
    this.#bytes = bytes;
    this.#rows = rows;
    this.#options = options;
  }

  /** @throws `invalid_arguments` if an action is malformed, or has no document. */
  decode(budgetBytes: number): boolean {
    const stop = this.#at + budgetBytes;
    while (this.#at < stop) {
      const line = this.#nextLine();
      if (line === undefined) {
        if (this.items.length === 0) throw malformed('request body is required');
        this.#rows.checkSize();
        return true;
      }
      this.#addItem(line);
    }
    return false;
  }

  /** Returns the next line that is not blank. */
  #nextLine(): Buffer | undefined {
    const bytes = this.#bytes;
    while (this.#at < bytes.length) {
      const found = bytes.indexOf(LF, this.#at);
      const end = found < 0 ? bytes.length : found;
      const line = bytes.subarray(this.#at, end);
      this.#at = end + 1;
      if (line.some((byte) => byte > 0x20)) return line;
    }
    return undefined;
  }

  #addItem(actionLine: Buffer): void {
    const { action, index } = this.#readAction(actionLine);
    const document = this.#nextLine();
    if (document === undefined) throw malformed('the last action has no document: the body must end with a newline');
    if (this.items.length >= ITEMS_MAX) {
      throw new AlmanacError('invalid_arguments', `request has more than ${ITEMS_MAX} documents`, { http: 413 });
    }
    let error: string | undefined;
    try {
      if (!INDEX_NAME.test(index)) throw malformed(`invalid index name [${index.slice(0, 255)}]`);
      this.#rows.members(this.#documentOf(parseJson(document)));
      this.#rows.end(index, this.#options.nowNs);
    } catch (thrown) {
      const failure = AlmanacError.from(thrown);
      if (failure.httpStatus !== 400) throw failure;
      this.#rows.clear();
      error = failure.publicMessage;
      this.rejected.addMalformed(() => failure.publicMessage);
    }
    this.items.push({ action, index, error });
  }

  #readAction(line: Buffer): Pick<BulkItem, 'action' | 'index'> {
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

  #documentOf(document: JsonValue): JsonObject {
    if (!isJsonObject(document)) throw malformed('document must be an object');
    const { messageField } = this.#options;
    const message = messageField === undefined ? undefined : document[messageField];
    if (messageField === undefined || typeof message !== 'string') return document;
    try {
      const inner = parseJson(Buffer.from(message));
      if (isJsonObject(inner)) return inner;
    } catch {
      // The text is no JSON: it stays a text.
    }
    return { [messageField]: message };
  }
}

function malformed(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
