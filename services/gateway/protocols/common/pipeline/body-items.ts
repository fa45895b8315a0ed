import { isUtf8 } from 'node:buffer';

import { CLOSE_BRACKET, COMMA, LF, OPEN_BRACE, OPEN_BRACKET, QUOTE, SPACE } from '#shared/bytes/ascii';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { PipelineRun } from '../../../pipelines/run.js';
import { lineAt } from '../../../pipelines/document/multiline.js';
import { parseTree } from '../../../pipelines/values/parse-tree.js';
import { isArray, isObject, type PipelineValue } from '../../../pipelines/values/value.js';
import { afterJsonSpace, endOfJson } from '../json-tape.js';
import type { TapeItems } from './tape-items.js';

/** Forms of a body with items. */
export const BODY_TYPES = ['application/json', 'application/x-ndjson', 'text/plain'] as const;
/** Form of a body with items. */
export type BodyType = (typeof BODY_TYPES)[number];

/** As GreptimeDB spells it, which clients may compare. */
const NOT_JSON = 'json format error, please check the date is valid JSON.';

/** Where the items of a body are read to. */
export interface ItemTarget {
  readonly run: PipelineRun;
  readonly items: TapeItems;
}

/** Reads a body item by item (spec: ingest 9.1, pipelines 13). */
export interface BodyItems {
  /** Position after what was read. */
  readonly at: number;
  /** The item, if it is no object; then the item of the run is not set. */
  readonly value: PipelineValue | undefined;
  /** Whether nothing can be read after an error. */
  readonly isStuck: boolean;
  /** Reads the next item. @returns whether there is one. @throws `invalid_arguments` if it cannot be read. */
  next(): boolean;
}

/** Returns the items of a body. */
export function bodyItems(type: BodyType, bytes: Buffer, target: ItemTarget): BodyItems {
  if (type === 'application/json') return new JsonItems(bytes, target);
  if (type === 'application/x-ndjson') return new JsonLines(bytes, target);
  return new TextLines(isUtf8(bytes) ? bytes : Buffer.from(bytes.toString()), target);
}

/** Any sequence of JSON values; the elements of arrays are items of their own. */
class JsonItems implements BodyItems {
  at = 0;
  value: PipelineValue | undefined = undefined;
  isStuck = false;
  readonly #bytes: Buffer;
  readonly #target: ItemTarget;
  /** What may come next: in an array an element, its end, or what follows an element. */
  #state: 'item' | 'first' | 'element' | 'separator' = 'item';

  constructor(bytes: Buffer, target: ItemTarget) {
    this.#bytes = bytes;
    this.#target = target;
  }

  next(): boolean {
    const bytes = this.#bytes;
    this.isStuck = true;
    for (;;) {
      this.at = afterJsonSpace(bytes, this.at, bytes.length);
      if (this.at >= bytes.length) {
        if (this.#state === 'item') return false;
        throw invalid(NOT_JSON);
      }
      if (this.#separates(bytes[this.at])) this.at++;
      else break;
    }
    if (this.#state === 'separator') throw invalid(NOT_JSON);
    if (this.#state !== 'item') this.#state = 'separator';
    if (bytes[this.at] === OPEN_BRACE) {
      this.value = undefined;
      this.at = this.#target.items.read(bytes, this.at, bytes.length);
      return true;
    }
    if (bytes[this.at] === OPEN_BRACKET) {
      const end = endOfJson(bytes, this.at, bytes.length);
      this.value = treeOf(bytes, this.at, end);
      this.at = end;
      return true;
    }
    const end = scalarEnd(bytes, this.at);
    treeOf(bytes, this.at, end);
    this.at = end;
    this.isStuck = false;
    throw invalid(NOT_JSON);
  }

  /** Whether the byte is a bracket or comma around items; it changes what may come next. */
  #separates(byte: number): boolean {
    const closes = byte === CLOSE_BRACKET && (this.#state === 'first' || this.#state === 'separator');
    if (closes) this.#state = 'item';
    else if (byte === OPEN_BRACKET && this.#state === 'item') this.#state = 'first';
    else if (byte === COMMA && this.#state === 'separator') this.#state = 'element';
    else return false;
    return true;
  }
}

/** A JSON value on each line. */
class JsonLines implements BodyItems {
  at = 0;
  value: PipelineValue | undefined = undefined;
  readonly isStuck = false;
  readonly #bytes: Buffer;
  readonly #target: ItemTarget;
  #line = -1;

  constructor(bytes: Buffer, target: ItemTarget) {
    this.#bytes = bytes;
    this.#target = target;
  }

  next(): boolean {
    const bytes = this.#bytes;
    while (this.at < bytes.length) {
      const end = lineEnd(bytes, this.at);
      const from = afterJsonSpace(bytes, this.at, end);
      this.at = end + 1;
      this.#line++;
      if (from === end) continue;
      try {
        this.#read(from, end);
      } catch (error) {
        const { publicMessage } = AlmanacError.from(error);
        throw invalid(`invalid JSON at index: ${this.#line}: ${publicMessage}`);
      }
      return true;
    }
    return false;
  }

  #read(from: number, end: number): void {
    const bytes = this.#bytes;
    if (bytes[from] === OPEN_BRACE) {
      this.value = undefined;
      const to = this.#target.items.read(bytes, from, end);
      if (afterJsonSpace(bytes, to, end) < end) throw invalid('text after the object');
      return;
    }
    const value = treeOf(bytes, from, end);
    if (!isArray(value) && !isObject(value)) throw invalid('neither an object nor an array');
    this.value = value;
  }
}

/** A text on each line, or in each group of lines of the pipeline, in the field `message`. */
class TextLines implements BodyItems {
  at = 0;
  readonly value = undefined;
  readonly isStuck = false;
  readonly #bytes: Buffer;
  readonly #run: PipelineRun;
  readonly #slot: number;

  constructor(bytes: Buffer, { run }: ItemTarget) {
    this.#bytes = bytes;
    this.#run = run;
    this.#slot = run.item.slots.slotOf('message');
  }

  next(): boolean {
    const bytes = this.#bytes;
    const { multiline } = this.#run;
    while (this.at < bytes.length) {
      const group = multiline === undefined ? lineAt(bytes, this.at) : multiline.groupAt(bytes, this.at);
      if (group === undefined) break;
      this.at = group.next;
      if (group.from === group.to) continue;
      this.#run.item.setBytes(this.#slot, bytes, group.from, group.to);
      return true;
    }
    this.at = bytes.length;
    return false;
  }
}

function lineEnd(bytes: Buffer, from: number): number {
  const found = bytes.indexOf(LF, from);
  return found < 0 ? bytes.length : found;
}

/** Returns the position after a number, a word or a text. */
function scalarEnd(bytes: Buffer, from: number): number {
  let at = from;
  if (bytes[at] === QUOTE) {
    for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === 0x5c) at++;
    return at + 1;
  }
  while (at < bytes.length && bytes[at] > SPACE && !ENDS.includes(bytes[at])) at++;
  return at;
}

const ENDS = Buffer.from(',[]{}"');

function treeOf(bytes: Buffer, from: number, to: number): PipelineValue {
  const text = bytes.subarray(from, to);
  if (!isUtf8(text)) throw invalid('JSON is not valid UTF-8');
  return parseTree(text.toString());
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
