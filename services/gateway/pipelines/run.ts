import { AlmanacError } from '#shared/errors/almanac-error';

import { isItemError, itemError, requestError } from './build-error.js';
import type { CompiledPipeline } from './compile.js';
import { IDENTITY } from './identity.js';
import type { OnError } from './document/extras.js';
import { ItemSnapshot, valueText, type FailedItem } from './failed-item.js';
import { Item, KeySlots } from './item.js';
import { MetricCounts } from './document/log-metrics.js';
import type { Multiline } from './document/multiline.js';
import { flatten, OptionVariables } from './option-variables.js';
import { StateJournal } from './journal.js';
import { DROPPED, type Conceal, type StepResult } from './processors/processor.js';
import type { PipelineRows } from './rows.js';
import { isObject, kindOf, printValue, withoutCutTexts, type PipelineValue } from './values/value.js';

const DISPATCH_MAX = 8;
const ROWS_PER_ITEM_MAX = 10_000;

/** The pipelines of a request: its own, and those that dispatchers can reach. */
export interface PipelineSet {
  readonly root: CompiledPipeline;
  /** Returns the latest version of a pipeline when the request began; undefined if there is none. */
  find(name: string): CompiledPipeline | undefined;
  /** What removes secrets from items that are stored because they failed. */
  readonly concealers: readonly Conceal[];
}

/** How a source sets objects: `flat` as the identity pipeline has them if that is the one, `tree` always as they are. */
export type ItemForm = 'flat' | 'tree';

/** Parameters of a request. */
export interface RunParameters {
  /** What becomes of items that fail; undefined for what the pipeline says. */
  readonly onError: OnError | undefined;
  /** Levels of objects that the identity pipeline distinguishes. */
  readonly levelsMax: number;
}

/** Watches how the processors change the items of a request. */
export interface StepObserver {
  beforeStep(): void;
  /** @param place of the processor, and its pipeline. */
  afterStep(place: string, pipeline: string, item: Item, result: StepResult): void;
  /** Called for an item that fails, with where and why. */
  failed(place: string, message: string): void;
  /** Called when the item is done. */
  ended(): void;
}

/** Takes items that fail. */
export interface FailureTarget {
  add(failure: FailedItem): void;
}

type FailedForm = Omit<FailedItem, 'table' | 'step' | 'message'>;

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
  /** Undefined but in dry runs. */
  observer: StepObserver | undefined = undefined;
  /** What the rows add to the metrics of their pipelines. */
  readonly counts = new MetricCounts();
  /** Number of items that have passed. */
  itemCount = 0;
  /** Number of items that were left out because they failed. */
  skipped = 0;
  /** Number of items that failed and are stored. */
  stored = 0;
  readonly #pipelines: PipelineSet;
  readonly #rows: PipelineRows;
  readonly #parameters: RunParameters;
  readonly #lanes = new Map<string, Lane>();
  readonly #root: Lane;
  readonly #rootPath: readonly string[];
  /** Whether the members of objects are still to be made fields of their own. */
  readonly #flattens: boolean;
  readonly #onError: OnError;
  readonly #failures: FailureTarget | undefined;
  readonly #before = new ItemSnapshot();
  readonly #conceal: Conceal = (value) => {
    return this.#pipelines.concealers.reduce((left, conceal) => conceal(left), value);
  };
  readonly #journal = new StateJournal();
  /** Position of the processor that runs; -1 for the transform. */
  #step = -1;
  #stepName = '';
  #rowsOfItem = 0;
  /** Table of the item, without suffix. */
  #table = '';

  /**
   * @param form how the source sets the members of objects.
   * @param failures takes the items that fail where the request stores them.
   */
  constructor(
    pipelines: PipelineSet,
    rows: PipelineRows,
    parameters: RunParameters,
    form: ItemForm,
    failures: FailureTarget | undefined,
  ) {
    this.#pipelines = pipelines;
    this.#rows = rows;
    this.#parameters = parameters;
    this.#root = lane(pipelines.root, this.#journal);
    this.#rootPath = [pipelines.root.name];
    this.item = this.#root.item;
    this.#flattens = form === 'tree' && this.isFlat;
    this.#onError = parameters.onError ?? pipelines.root.extras.onError ?? 'fail';
    this.#failures = this.#onError === 'store' ? failures : undefined;
  }

  /** Whether the pipeline takes objects with their members of all levels as keys. */
  get isFlat(): boolean {
    return this.#root.pipeline.name === IDENTITY;
  }

  /** How lines of text are joined to items; undefined if each is one. */
  get multiline(): Multiline | undefined {
    return this.#root.pipeline.extras.multiline;
  }

  /** Key of the time that a protocol gives to items. */
  get timeKey(): string {
    return this.#root.pipeline.timeKey;
  }

  /** What becomes of items that fail. */
  get onError(): OnError {
    return this.#onError;
  }

  /**
   * Stores the rows of the item, and clears it.
   *
   * @throws `invalid_arguments` if the item fails, unless such items are left out or stored.
   */
  run(table: string): void {
    if (this.#failures !== undefined) this.#before.take(this.item);
    // Written out, and not by `#attempt`: it would make two functions for each item.
    this.#begin(table);
    try {
      if (this.#flattens) flatten(this.item, this.#parameters.levelsMax);
      this.#process(this.#root, table, this.#rootPath);
    } catch (thrown) {
      this.#failed(thrown, () => ({ ...this.#rootForm(table), ...this.#before.text(this.#conceal) }));
    } finally {
      this.item.clear();
    }
    this.#end();
  }

  /** Reports that an item cannot be read from its protocol. @throws the error unless such items are left out. */
  fail(error: AlmanacError): void {
    if (this.#onError !== 'skip') throw error;
    this.skipped++;
    this.itemCount++;
  }

  /** Does the same as `run` with a value that is no object: the elements of an array become rows. */
  runValue(value: PipelineValue, table: string): void {
    const failed = (): FailedForm => ({ ...this.#rootForm(table), ...valueText(value, this.#conceal) });
    this.#attempt(table, failed, () => {
      if (!Array.isArray(value) || this.#root.pipeline.steps.length > 0) throw itemError('Top level value must be map');
      this.#addElements(this.#root, value as readonly PipelineValue[], table);
    });
    this.item.clear();
  }

  /** Does the same with an element of a list that the processors made: only the transform follows. */
  runElement(value: PipelineValue, table: string): void {
    const failed = (): FailedForm => ({ ...this.#rootForm(table), ...valueText(value, this.#conceal) });
    this.#attempt(table, failed, () => this.#addElements(this.#root, [value], table));
    this.item.clear();
  }

  #rootForm(table: string): Pick<FailedItem, 'form' | 'pipeline' | 'target'> {
    return { form: 'item', pipeline: this.#root.pipeline.name, target: table };
  }

  /** Says that the items are run again after a failure. */
  beginReplay(): void {
    this.#journal.isReplay = true;
  }

  /** Undoes what the items have changed in the state of pipelines, because the request fails. */
  abandon(): void {
    this.#journal.undo();
  }

  #attempt(table: string, failed: () => FailedForm, run: () => void): void {
    this.#begin(table);
    try {
      run();
    } catch (thrown) {
      this.#failed(thrown, failed);
    }
    this.#end();
  }

  #begin(table: string): void {
    this.#rowsOfItem = 0;
    this.#step = -1;
    this.#table = table;
  }

  #end(): void {
    this.observer?.ended();
    this.itemCount++;
  }

  #failed(thrown: unknown, failed: () => FailedForm): void {
    const error = AlmanacError.from(thrown);
    // An element has been placed already.
    if (!isItemError(error) || error.details['item'] !== undefined) throw error;
    this.observer?.failed(this.#place(), error.publicMessage);
    if (this.#onError === 'skip') return void this.skipped++;
    if (this.#failures === undefined) throw this.#placed(error);
    const hasSecrets = this.#pipelines.concealers.length > 0;
    const shown = hasSecrets ? withoutCutTexts(error.publicMessage) : error.publicMessage;
    const message = printValue(this.#conceal(shown));
    this.#failures.add({ ...failed(), table: this.#table, step: this.#place(), message });
    this.stored++;
  }

  /** Adds to an error where it happened. */
  #placed(error: AlmanacError): AlmanacError {
    const step = this.#step < 0 ? 'transform' : `processors[${this.#step}]`;
    const item = String(this.itemCount);
    const details = { item, step };
    const message = `${error.publicMessage} (item ${item}, ${this.#place()})`;
    return new AlmanacError('invalid_arguments', message, { details });
  }

  #place(): string {
    return this.#step < 0 ? 'transform' : `processors[${this.#step}] ${this.#stepName}`;
  }

  /** @param path names of the pipelines that the item has passed, the current one included. */
  #process(current: Lane, table: string, path: readonly string[]): void {
    const { pipeline, item } = current;
    const { steps, dispatcher } = pipeline;
    for (let i = 0; i < steps.length; i++) {
      this.#step = i;
      this.#stepName = steps[i].name;
      this.observer?.beforeStep();
      const result = steps[i].run(item);
      this.observer?.afterStep(this.#place(), pipeline.name, item, result);
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
        const form = { form: 'element', pipeline: pipeline.name, target: table } as const;
        this.#failed(thrown, () => ({ ...form, ...valueText(element, this.#conceal) }));
      }
    }
  }

  #add({ pipeline, item, variables }: Lane, table: string): void {
    if (++this.#rowsOfItem > ROWS_PER_ITEM_MAX) throw itemError(`item makes more than ${ROWS_PER_ITEM_MAX} rows`);
    const options = variables.take(item);
    const suffix = variables.suffix ?? pipeline.suffix?.of(item) ?? '';
    this.#rows.add(item, pipeline.transform, table + suffix, options);
    this.counts.add(pipeline.name, pipeline.extras.metrics, item);
  }
}

function lane(pipeline: CompiledPipeline, journal: StateJournal): Lane {
  return { pipeline, item: new Item(new KeySlots(pipeline.keys), journal), variables: new OptionVariables() };
}
