import { AlmanacError } from '#shared/errors/almanac-error';

import type { DocumentRows } from '../common/document-rows.js';
import { isJsonObject, parseJson, stringifyJson, type JsonObject, type JsonValue } from '../common/json.js';
import { RejectedRows } from '../common/rejected-rows.js';
import type { Decoding } from '../protocol.js';
import { splunkError } from './codes.js';
import { readEventTime } from './event-time.js';
import { JsonItems } from './json-items.js';

const NO_LETTER_FIRST = /^[^a-zA-Z_:-]/;
const NOT_IN_NAMES = /[^A-Za-z0-9_:\-.@#]/g;

/** Tags of every event, in their order. */
export const ORIGIN_TAGS = ['host', 'source', 'sourcetype'] as const;
const EVENT = 'event';
const OWN_KEYS = new Set<string>([...ORIGIN_TAGS, EVENT, 'time', 'index', 'fields']);

/** Options of the rows of one request. */
export interface EventOptions {
  /** Table of events that name no index. */
  readonly table: string;
  readonly timeColumn: string;
  readonly nowNs: bigint;
}

/** Returns the table of an index; undefined if it names none. */
export function tableOfIndex(index: string): string | undefined {
  const name = index.trim().replaceAll(NOT_IN_NAMES, '_');
  if (name === '') return undefined;
  return NO_LETTER_FIRST.test(name) ? `_${name}` : name;
}

/** Decodes events: objects one after the other, or a list of them. */
export class EventDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly #bytes: Buffer;
  readonly #rows: DocumentRows;
  readonly #options: EventOptions;
  readonly #items: JsonItems;
  #count = 0;

  constructor(bytes: Buffer, rows: DocumentRows, options: EventOptions) {
    this.#bytes = bytes;
    this.#rows = rows;
    this.#options = options;
    this.#items = new JsonItems(bytes);
  }

  /** @throws an error with a code of the event collector for the first event that is malformed. */
  decode(budgetBytes: number): boolean {
    const items = this.#items;
    const stop = items.to + budgetBytes;
    while (items.to < stop) {
      const found = items.next();
      if (found === 'malformed') throw splunkError(6, this.#count);
      if (found === 'end') {
        if (this.#count === 0) throw splunkError(5);
        this.#rows.checkSize();
        return true;
      }
      this.#addEvent();
      this.#count++;
    }
    return false;
  }

  #addEvent(): void {
    const { from, to } = this.#items;
    try {
      const event = parseJson(this.#bytes.subarray(from, to));
      if (!isJsonObject(event)) throw splunkError(6, this.#count);
      this.#add(event);
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      // Limits of a request are no fault of one event.
      if (error.httpStatus !== 400 || error.details['splunk_code'] !== undefined) throw error;
      throw splunkError(6, this.#count, error.publicMessage);
    }
  }

  #add(event: JsonObject): void {
    const rows = this.#rows;
    const number = this.#count;
    const { event: content, fields = null, index = null } = event;
    if (content === undefined) throw splunkError(12, number);
    if (content === null || (typeof content === 'string' && content.trim() === '')) throw splunkError(13, number);
    const time = this.#timeOf(event['time'] ?? null);
    for (const name of ORIGIN_TAGS) rows.tag(name, scalarText(event[name] ?? null, number));
    if (fields !== null) this.#addFields(fields);
    rows.value(EVENT, content);
    for (const [name, value] of Object.entries(event)) {
      if (!OWN_KEYS.has(name) && name !== this.#options.timeColumn) rows.value(name, value);
    }
    rows.end(tableOfIndex(scalarText(index, number)) ?? this.#options.table, time);
  }

  #addFields(fields: JsonValue): void {
    if (!isJsonObject(fields)) throw splunkError(15, this.#count);
    for (const [name, value] of Object.entries(fields)) {
      if (value === null || OWN_KEYS.has(name) || name === this.#options.timeColumn) continue;
      if (isJsonObject(value)) throw splunkError(15, this.#count);
      this.#rows.tag(name, typeof value === 'string' ? value : stringifyJson(value));
    }
  }

  #timeOf(time: JsonValue): bigint {
    if (time === null) return this.#options.nowNs;
    const { timeFrom, timeTo } = this.#items;
    const isNumber = typeof time === 'number' || typeof time === 'bigint';
    // A double does not hold all digits of nanoseconds: the text does.
    const text = isNumber ? this.#bytes.toString('latin1', timeFrom, timeTo) : time;
    const ns = typeof text === 'string' ? readEventTime(text) : undefined;
    if (ns === undefined) throw splunkError(6, this.#count);
    return ns;
  }
}

function scalarText(value: JsonValue, event: number): string {
  if (value === null) return '';
  if (typeof value === 'object') throw splunkError(6, event);
  return String(value);
}
