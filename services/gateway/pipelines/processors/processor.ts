import type { TimeUnit } from '#shared/schema/data-type';

import { buildError, itemError } from '../build-error.js';
import type { Item, KeySlots } from '../item.js';
import type { LookupSpec, LookupTable } from '../lookup-tables.js';
import type { Options } from '../options.js';
import type { PipelineResources } from '../resources.js';
import { describeValue, shortened, type PipelineValue } from '../values/value.js';

/** Fields that the error for a missing one names. */
const SHOWN_KEYS = 10;

/** Ends the item without a row and without an error. */
export const DROPPED = Symbol('dropped');

/** What follows a step: undefined for the next step, or rows in place of the item. */
export type StepResult = undefined | typeof DROPPED | readonly PipelineValue[];

/** A processor of a compiled pipeline. @throws `invalid_arguments` if the item does not fit. */
export type Step = (item: Item) => StepResult;

/** Removes secrets from a value, wherever they are. */
export type Conceal = (value: PipelineValue) => PipelineValue;

/** What a processor is compiled with besides its options. */
export interface BuildContext {
  /** Name of the pipeline. */
  readonly pipeline: string;
  readonly resources: PipelineResources;
  /** Returns a table, which is loaded before the pipeline runs. */
  lookupTable(spec: LookupSpec): LookupTable;
  /**
   * Compiles the list of processors that an option of the processor holds.
   *
   * @param slots of the items that they work on.
   * @throws `invalid_arguments` if it is no list of processors.
   */
  steps(option: string, given: PipelineValue, slots: KeySlots): Step;
}

/** A kind of processor: everything that a pipeline knows of it (spec: pipelines 3). */
export interface ProcessorKind {
  /** Name in pipelines. */
  readonly name: string;
  /**
   * Reads the options and compiles them.
   *
   * @param slots of the keys of items; a step reads and writes fields by slot.
   * @throws `invalid_arguments` for options that are not allowed.
   */
  build(options: Options, slots: KeySlots, context: BuildContext): Step;
  /** Returns what removes secrets from items that are stored because they failed; undefined if it removes none. */
  conceal?(options: Options, context: BuildContext): Conceal;
  /** Unit of the times that it makes of its fields; undefined if it makes none. */
  timeUnit?(options: Options): TimeUnit | undefined;
}

/** A field that a step reads, and the one that it writes. */
export interface FieldSlots {
  readonly from: number;
  readonly to: number;
  /** Key of the field that is read. */
  readonly key: string;
  /** Key of the field that is written. */
  readonly target: string;
}

/** Returns the slots of the fields of a processor. */
export function fieldSlots(options: Options, slots: KeySlots): FieldSlots[] {
  return options.fields().map(({ from, to }) => {
    return { from: slots.slotOf(from), to: slots.slotOf(to), key: from, target: to };
  });
}

/** Compiles a processor that handles its fields one by one; a field that is absent or null counts as missing. */
export function eachField(
  processor: string,
  options: Options,
  slots: KeySlots,
  run: (item: Item, field: FieldSlots) => void,
): Step {
  const fields = fieldSlots(options, slots);
  const { ignoreMissing } = options;
  return (item) => {
    for (const field of fields) {
      if (!item.isMissing(field.from)) run(item, field);
      else if (!ignoreMissing) throw missingField(processor, field.key, item);
    }
    return undefined;
  };
}

/** Compiles a processor that changes strings. */
export function eachText(
  processor: string,
  options: Options,
  slots: KeySlots,
  run: (item: Item, field: FieldSlots) => void,
): Step {
  return eachField(processor, options, slots, (item, field) => {
    if (!item.isText(field.from)) throw notText(processor, item, field.from);
    run(item, field);
  });
}

/** Makes the error for a field that an item lacks: it names those that the item has. */
export function missingField(processor: string, key: string, item: Item): Error {
  const slots = item.present().filter((slot) => !item.isMissing(slot));
  const keys = slots.map((slot) => item.slots.keys[slot]);
  const more = keys.length > SHOWN_KEYS ? ', ..' : '';
  const present = keys.length === 0 ? '' : ` (the item has ${shortened(keys.slice(0, SHOWN_KEYS).join(', '))}${more})`;
  return itemError(`Processor ${processor}: missing field: ${key}${present}`);
}

/** Makes the error for a field that is no string. */
export function notText(processor: string, item: Item, slot: number): Error {
  const given = describeValue(item.get(slot) ?? null);
  return itemError(`Processor ${processor}: expect string value, but got ${given}`);
}

/** Returns an option that is required. @throws `invalid_arguments` with the text if it is absent. */
export function required<T>(value: T | undefined, failure: string): T {
  if (value === undefined) throw buildError(failure);
  return value;
}
