import { AlmanacError } from '#shared/errors/almanac-error';

import { isItemError, itemError, requestError } from './build-error.js';
import type { CompiledPipeline } from './compile.js';
import { IDENTITY } from './identity.js';
import { Item, KeySlots } from './item.js';
import { flatten, OptionVariables } from './option-variables.js';
import { StateJournal } from './journal.js';
import { DROPPED } from './processors/processor.js';
import type { PipelineRows } from './rows.js';
import { isObject, kindOf, type PipelineValue } from './values/value.js';

const DISPATCH_MAX = 8;
const ROWS_PER_ITEM_MAX = 10_000;

/** The pipelines of a request: its own, and those that dispatchers can reach. */
export interface PipelineSet {
  readonly root: CompiledPipeline;
  /** Returns the latest version of a pipeline when the request began; undefined if there is none. */
  find(name: string): CompiledPipeline | undefined;
}

/** Parameters of a request. */
export interface RunParameters {
  /** Whether items that fail are left out. */
  readonly skipsErrors: boolean;
  /** Levels of objects that the identity pipeline distinguishes. */
  readonly levelsMax: number;
}

/** A pipeline, and the item that passes through it. */
interface Lane {
  readonly pipeline: CompiledPipeline;
  readonly item: Item;
  readonly variables: OptionVariables;
}

/** Runs a pipeline over the items of a request, one after the other (spec: pipelines 1). */
export class PipelineRun {
  /** The item that `run` takes; sources set its fields. */
  readonly item: Item;
  /** Number of items that have passed. */
  itemCount = 0;
  /** Number of items that were left out because they failed. */
  skipped = 0;
  readonly #pipelines: PipelineSet;
  readonly #rows: PipelineRows;
  readonly #parameters: RunParameters;
  readonly #lanes = new Map<string, Lane>();
  readonly #root: Lane;
  readonly #journal = new StateJournal();
  /** Position of the processor that runs; -1 for the transform. */
  #step = -1;
  #stepName = '';
  #rowsOfItem = 0;

  constructor(pipelines: PipelineSet, rows: PipelineRows, parameters: RunParameters) {
    this.#pipelines = pipelines;
    this.#rows = rows;
    this.#parameters = parameters;
    this.#root = lane(pipelines.root, this.#journal);
    this.item = this.#root.item;
  }

  /** Whether the pipeline takes objects with their members of all levels as keys. */
  get isFlat(): boolean {
    return this.#root.pipeline.name === IDENTITY;
  }

  /**
   * Stores the rows of the item, and clears it.
   *
   * @throws `invalid_arguments` if the item fails, unless such items are left out.
   */
  run(table: string): void {
    this.#attempt(() => this.#process(this.#root, table, [this.#root.pipeline.name]));
    this.item.clear();
  }

  /** Does the same with a value that is no object: the elements of an array become rows. */
  runValue(value: PipelineValue, table: string): void {
    this.#attempt(() => {
      if (!Array.isArray(value) || this.#root.pipeline.steps.length > 0) throw itemError('Top level value must be map');
      this.#addElements(this.#root, value as readonly PipelineValue[], table);
    });
    this.item.clear();
  }

  /** Undoes what the items have changed in the state of pipelines, because the request fails. */
  abandon(): void {
    this.#journal.undo();
  }

  #attempt(run: () => void): void {
    this.#rowsOfItem = 0;
    this.#step = -1;
    try {
      run();
    } catch (thrown) {
      this.#failed(thrown);
    }
    this.itemCount++;
  }

  #failed(thrown: unknown): void {
    const error = AlmanacError.from(thrown);
    // An element has been placed already.
    if (!isItemError(error) || error.details['item'] !== undefined) throw error;
    if (!this.#parameters.skipsErrors) throw this.#placed(error);
    this.skipped++;
  }

  /** Adds to an error where it happened. */
  #placed(error: AlmanacError): AlmanacError {
    const step = this.#step < 0 ? 'transform' : `processors[${this.#step}]`;
    const place = this.#step < 0 ? step : `${step} ${this.#stepName}`;
    const item = String(this.itemCount);
    const details = { item, step };
    return new AlmanacError('invalid_arguments', `${error.publicMessage} (item ${item}, ${place})`, { details });
  }

  /** @param path names of the pipelines that the item has passed, the current one included. */
  #process(current: Lane, table: string, path: readonly string[]): void {
    const { pipeline, item } = current;
    const { steps, dispatcher } = pipeline;
    for (let i = 0; i < steps.length; i++) {
      this.#step = i;
      this.#stepName = steps[i].name;
      const result = steps[i].run(item);
      if (result === undefined) continue;
      if (result === DROPPED) return;
      if (i < steps.length - 1) throw itemError('Top level value must be map');
      this.#addElements(current, result, table);
      return;
    }
    this.#step = -1;
    const rule = dispatcher?.ruleFor(item);
    if (rule === undefined) this.#add(current, table);
    else this.#dispatch(item, rule.pipeline ?? IDENTITY, table + rule.suffix, path);
  }

  #dispatch(item: Item, name: string, table: string, path: readonly string[]): void {
    const next = [...path, name];
    if (path.includes(name) || path.length >= DISPATCH_MAX) throw itemError(`dispatch loop: ${next.join(' -> ')}`);
    const child = this.#lane(name);
    child.item.clear();
    const { keys } = item.slots;
    for (const slot of item.present()) child.item.setField(child.item.slots.slotOf(keys[slot]), item.field(slot));
    if (name === IDENTITY) flatten(child.item, this.#parameters.levelsMax);
    this.#process(child, table, next);
  }

  #lane(name: string): Lane {
    let found = this.#lanes.get(name);
    if (found === undefined) {
      const pipeline = this.#pipelines.find(name);
      if (pipeline === undefined) throw requestError(`Pipeline not found, name: ${name}, version: latest`);
      found = lane(pipeline, this.#journal);
      this.#lanes.set(name, found);
    }
    return found;
  }

  #addElements(current: Lane, elements: readonly PipelineValue[], table: string): void {
    const { item, pipeline } = current;
    for (const [i, element] of elements.entries()) {
      try {
        item.clear();
        if (!isObject(element)) {
          const kind = kindOf(element);
          throw itemError(`Array element at index ${i} must be an object for one-to-many transformation, got ${kind}`);
        }
        for (const [key, value] of element) item.set(item.slots.slotOf(key), value);
        if (pipeline.name === IDENTITY) flatten(item, this.#parameters.levelsMax);
        this.#add(current, table);
      } catch (thrown) {
        this.#failed(thrown);
      }
    }
  }

  #add({ pipeline, item, variables }: Lane, table: string): void {
    if (++this.#rowsOfItem > ROWS_PER_ITEM_MAX) throw itemError(`item makes more than ${ROWS_PER_ITEM_MAX} rows`);
    const options = variables.take(item);
    const suffix = variables.suffix ?? pipeline.suffix?.of(item) ?? '';
    this.#rows.add(item, pipeline.transform, table + suffix, options);
  }
}

function lane(pipeline: CompiledPipeline, journal: StateJournal): Lane {
  return { pipeline, item: new Item(new KeySlots(pipeline.keys), journal), variables: new OptionVariables() };
}
