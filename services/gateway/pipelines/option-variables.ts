import { itemError } from './build-error.js';
import { Held, type Item } from './item.js';
import type { RowOptions } from './rows.js';
import { printValue } from './values/value.js';

const PREFIXES = ['greptime_', 'almanac_'];
const SUFFIX = 'table_suffix';
const NAMES = ['auto_create_table', 'ttl', 'append_mode', 'merge_mode', 'physical_table', 'skip_wal', SUFFIX];
const NO_OPTIONS: RowOptions = new Map();

/** A field that is an option of its row's table. */
interface OptionField {
  readonly name: string;
  readonly slot: number;
}

/** Takes the fields out of items that are options of their tables (spec: pipelines 8). */
export class OptionVariables {
  /** Suffix of the table that the last item named; undefined if it named none. */
  suffix: string | undefined = undefined;
  #fields: OptionField[] = [];
  #keyCount = 0;

  /** Removes the option fields of an item and returns them, by name. */
  take(item: Item): RowOptions {
    this.suffix = undefined;
    this.#find(item);
    if (!this.#fields.some(({ slot }) => item.has(slot))) return NO_OPTIONS;
    const options = new Map<string, string>();
    for (const { name, slot } of this.#fields) {
      if (!item.has(slot)) continue;
      const text = printValue(item.get(slot) ?? null);
      item.remove(slot);
      if (name === SUFFIX) this.suffix = text;
      else if (name === 'auto_create_table' && text !== 'true' && text !== 'false') {
        throw itemError(`greptime_auto_create_table must be true or false, not "${text}"`);
      } else options.set(name, text);
    }
    return options;
  }

  /** Looks for the fields again when the request has new keys. */
  #find({ slots }: Item): void {
    if (slots.keys.length === this.#keyCount) return;
    this.#keyCount = slots.keys.length;
    this.#fields = NAMES.flatMap((name) => {
      return PREFIXES.flatMap((prefix) => {
        const slot = slots.find(prefix + name);
        return slot === undefined ? [] : [{ name, slot }];
      });
    });
  }
}

/** Replaces the objects of an item by their members, with keys joined by dots (spec: pipelines 9). */
export function flatten(item: Item, levelsMax: number): void {
  for (const slot of item.present()) {
    const kind = item.kinds[slot];
    if (kind !== Held.tree && kind !== Held.json) continue;
    const value = item.get(slot);
    if (!(value instanceof Map) || levelsMax <= 1) continue;
    item.remove(slot);
    flattenInto(item, item.slots.keys[slot], value, levelsMax - 1);
  }
}

function flattenInto(item: Item, prefix: string, members: ReadonlyMap<string, unknown>, levels: number): void {
  for (const [key, value] of members) {
    const name = `${prefix}.${key}`;
    if (value instanceof Map && levels > 1) flattenInto(item, name, value, levels - 1);
    else item.set(item.slots.slotOf(name), value as Parameters<Item['set']>[1]);
  }
}
