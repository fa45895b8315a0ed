import { AlmanacError } from '#shared/errors/almanac-error';

import { Held, type Item } from './item.js';
import type { Conceal } from './processors/processor.js';
import { printFloat } from './values/float-text.js';
import { parseTree } from './values/parse-tree.js';
import { Timestamp } from './values/timestamp.js';
import { compareKeys, isArray, isObject, type ObjectValue, type PipelineValue } from './values/value.js';

/** Longest text of a stored item. */
const TEXT_MAX = 16 * 1024 * 1024;

/** An item as text: JSON, and the kinds of those fields that JSON does not have. */
export interface ItemText {
  readonly text: string;
  /** Kinds by key as JSON; empty if JSON has them all. */
  readonly kinds: string;
}

/** An item that failed, as the failure table stores it. */
export interface FailedItem extends ItemText {
  /** Table of the request: the failure table is named after it. */
  readonly table: string;
  /** Table with which the item runs again. */
  readonly target: string;
  /** `item`, or `element` for a row that a pipeline made of an item. */
  readonly form: 'item' | 'element';
  /** Name of the pipeline that runs it again. */
  readonly pipeline: string;
  readonly step: string;
  readonly message: string;
}

/** The fields of an item before its pipeline changes them; one object holds those of all items, one after the other. */
export class ItemSnapshot {
  readonly #slots: number[] = [];
  readonly #kinds: Held[] = [];
  readonly #low: number[] = [];
  readonly #high: number[] = [];
  readonly #other: unknown[] = [];
  #keys: readonly string[] = [];

  /** Copies the fields without reading their values. */
  take(item: Item): void {
    const slots = item.present();
    this.#keys = item.slots.keys;
    this.#slots.length = slots.length;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i];
      this.#slots[i] = slot;
      this.#kinds[i] = item.kinds[slot];
      this.#low[i] = item.low[slot];
      this.#high[i] = item.high[slot];
      this.#other[i] = item.other[slot];
    }
  }

  /** Returns the item as text, without its secrets. @throws `invalid_arguments` if it is too long to be stored. */
  text(conceal: Conceal): ItemText {
    const object: ObjectValue = new Map();
    for (const [i, slot] of this.#slots.entries()) {
      object.set(this.#keys[slot], valueOf(this.#kinds[i], this.#low[i], this.#high[i], this.#other[i]));
    }
    return valueText(object, conceal);
  }
}

function valueOf(kind: Held, low: number, high: number, other: unknown): PipelineValue {
  switch (kind) {
    case Held.boolean:
      return low === 1;
    case Held.integer:
      return BigInt(low);
    case Held.bigint:
      return other as bigint;
    case Held.float:
      return low;
    case Held.bytes:
      return (other as Buffer).toString('utf8', low, high);
    case Held.text:
      return other as string;
    case Held.timestamp:
      return new Timestamp(low, high);
    case Held.json:
      return parseTree(other as string);
    case Held.tree:
      return other as PipelineValue;
    default:
      return null;
  }
}

/** Returns any value in place of an item as text, without its secrets. */
export function valueText(whole: PipelineValue, conceal: Conceal): ItemText {
  const value = conceal(whole);
  return isObject(value) ? objectText(value) : { text: checked(jsonOf(value)), kinds: '' };
}

function objectText(object: ObjectValue): ItemText {
  const kinds = [...object].flatMap(([key, value]): (readonly [string, string])[] => {
    if (value instanceof Timestamp) return [[key, 'timestamp']];
    return typeof value === 'number' && !Number.isFinite(value) ? [[key, 'float']] : [];
  });
  const kindText = kinds.length === 0 ? '' : JSON.stringify(Object.fromEntries(kinds));
  return { text: checked(jsonOf(object)), kinds: kindText };
}

function checked(text: string): string {
  if (text.length <= TEXT_MAX) return text;
  throw new AlmanacError('invalid_arguments', `item that failed is too large to be stored: ${text.length} characters`);
}

/** Like compact JSON with sorted keys, but floats stay floats, and timestamps are nanoseconds. */
function jsonOf(value: PipelineValue): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return floatJson(value);
  if (value instanceof Timestamp) return String(value.ns);
  if (isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (!isObject(value)) return String(value);
  const keys = [...value.keys()].sort(compareKeys);
  return `{${keys.map((key) => `${JSON.stringify(key)}:${jsonOf(value.get(key) ?? null)}`).join(',')}}`;
}

function floatJson(value: number): string {
  if (!Number.isFinite(value)) return JSON.stringify(String(value));
  const text = printFloat(value);
  return text.includes('.') ? text : `${text}.0`;
}

/** Reads the text of an item. */
export function readItemText({ text, kinds }: ItemText): PipelineValue {
  const value = parseTree(text);
  if (kinds === '' || !isObject(value)) return value;
  const named = parseTree(kinds);
  if (!isObject(named)) return value;
  for (const [key, kind] of named) value.set(key, ofKind(value.get(key) ?? null, kind));
  return value;
}

function ofKind(value: PipelineValue, kind: PipelineValue): PipelineValue {
  if (kind === 'timestamp' && typeof value === 'bigint') return Timestamp.ofNs(value);
  return kind === 'float' && typeof value === 'string' ? Number(value) : value;
}
