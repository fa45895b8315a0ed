import { buildError } from './build-error.js';
import { Held, type Item, type KeySlots } from './item.js';
import type { PipelineValue } from './values/value.js';

/** Appends values of an item to the name of its table (spec: pipelines 7). */
export class TableSuffix {
  /** Texts, and slots of fields. */
  readonly #parts: readonly (string | number)[];

  constructor(parts: readonly (string | number)[]) {
    this.#parts = parts;
  }

  get isFixed(): boolean {
    return this.#parts.every((part) => typeof part === 'string');
  }

  /** Returns the suffix for an item; empty if a field is neither a text nor an integer. */
  of(item: Item): string {
    let suffix = '';
    for (const part of this.#parts) {
      const text = typeof part === 'string' ? part : fieldText(item, part);
      if (text === undefined) return '';
      suffix += text;
    }
    return suffix;
  }
}

/** Compiles a template such as `_${app}`. @throws `invalid_arguments`. */
export function compileSuffix(given: PipelineValue, slots: KeySlots): TableSuffix | undefined {
  if (given === null) return undefined;
  if (typeof given !== 'string') throw buildError('A valid table suffix template is required for tablesuffix section');
  const parts = given.split(/\$\{([^}]*)\}/).map((part, i) => (i % 2 === 0 ? part : slots.slotOf(part.trim())));
  return new TableSuffix(parts.filter((part) => part !== ''));
}

function fieldText(item: Item, slot: number): string | undefined {
  if (item.isText(slot)) return item.text(slot);
  const kind = item.kinds[slot];
  return kind === Held.integer || kind === Held.bigint ? String(item.integer(slot)) : undefined;
}
