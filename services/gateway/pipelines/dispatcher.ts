import { buildError } from './build-error.js';
import type { Item, KeySlots } from './item.js';
import { isArray, isObject, canonicalJson, kindOf, printValue, type PipelineValue } from './values/value.js';

const VALUE_REQUIRED = 'Value is required for dispatcher rule';

/** Where a dispatcher sends an item. */
export interface DispatchRule {
  readonly suffix: string;
  /** Name of the pipeline; undefined for the identity pipeline. */
  readonly pipeline: string | undefined;
}

/** Sends items to other pipelines by the value of a field (spec: pipelines 6). */
export class Dispatcher {
  readonly rules: readonly DispatchRule[];
  readonly #slot: number;
  readonly #byValue: ReadonlyMap<string, DispatchRule>;

  constructor(slot: number, byValue: ReadonlyMap<string, DispatchRule>) {
    this.#slot = slot;
    this.#byValue = byValue;
    this.rules = [...byValue.values()];
  }

  /** Returns the rule for an item; undefined if it stays. */
  ruleFor(item: Item): DispatchRule | undefined {
    const value = item.get(this.#slot);
    return value === undefined ? undefined : this.#byValue.get(valueKey(value));
  }
}

/** Compiles a dispatcher. @throws `invalid_arguments`. */
export function compileDispatcher(given: PipelineValue, slots: KeySlots): Dispatcher | undefined {
  if (given === null) return undefined;
  if (!isObject(given)) throw buildError('Dispatcher must be a map');
  const field = given.get('field');
  if (typeof field !== 'string') throw buildError('Field is required for dispatcher');
  const rules = given.get('rules') ?? [];
  if (!isArray(rules)) throw buildError('Rules of the dispatcher must be a list');
  const byValue = new Map<string, DispatchRule>();
  for (const rule of rules) {
    const value = isObject(rule) ? rule.get('value') : undefined;
    if (!isObject(rule) || value === undefined) throw buildError(VALUE_REQUIRED);
    const suffix = rule.get('table_suffix');
    if (typeof suffix !== 'string') throw buildError('Table_suffix is required for dispatcher rule');
    const pipeline = rule.get('pipeline') ?? undefined;
    const key = valueKey(value);
    // The first rule for a value counts.
    if (byValue.has(key)) continue;
    byValue.set(key, { suffix, pipeline: pipeline === undefined ? undefined : printValue(pipeline) });
  }
  return new Dispatcher(slots.slotOf(field), byValue);
}

/** Values are equal if their kinds are, and their texts. */
function valueKey(value: PipelineValue): string {
  return `${kindOf(value)} ${canonicalJson(value)}`;
}
