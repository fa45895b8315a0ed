import type { Column } from '#shared/contracts/gen/common';

import type { Slices } from '#shared/clock/slices';
import { isOutOfMemory } from '#shared/duckdb/errors';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { RegionSource, TableSource } from '../snapshot/snapshots.js';
import type { TagColumn } from '../series/tag-column.js';
import { compileLike, compileSearch, PLAIN_WORK, type ValueTest } from '../series/matcher.js';
import {
  NO_INDEX,
  NotForKernels,
  NotNowForKernels,
  type KernelQuery,
  type TagFilter,
  type TextPattern,
} from './query.js';

/** Values of the tags by which a query groups, in its order. */
export type Label = readonly (string | null)[];

/** The series of a region that a query selects. */
export interface RegionSeries {
  /**
   * Label number plus 1 by series number, 0: not selected; series after its end are not selected; undefined: all series have
   * label 0. Zeros take no memory in most of a long array, and no time to write.
   */
  readonly labels: Int32Array | undefined;
  /** Series that may be selected, ascending; undefined: any. */
  readonly sids: Int32Array | undefined;
}

/** The series of all regions, and their labels. */
export interface LabelledSeries {
  readonly labels: readonly Label[];
  readonly regions: readonly RegionSeries[];
}

/** Selects the series of a query by their tags, and numbers the distinct values of the tags by which it groups. */
export async function labelSeries(query: KernelQuery, source: TableSource, slices: Slices): Promise<LabelledSeries> {
  const tags = query.labelTags;
  const labels = new Labels();
  if (tags.length === 0) labels.numberOf([]);
  const tested: Column[] = [];
  for (const { tag } of query.tagConditions) tested.push(tag);
  const regions: RegionSeries[] = [];
  for (const region of source.regions) {
    const known = withOneLabel(query, region, source);
    if (known !== undefined) {
      regions.push(known);
      continue;
    }
    const sids = region.selected;
    const grouping = await columnsOf(region, tags);
    const conditions = await columnsOf(region, tested);
    const end = sids === undefined ? region.view.seriesCount : (sids.at(-1) ?? -1) + 1;
    const ofSeries = new Int32Array(end);
    const work = { done: 0 };
    const accepts: ((sid: number) => boolean)[] = [];
    for (let i = 0; i < conditions.length; i++) accepts.push(acceptor(query.tagConditions[i], conditions[i], work));
    const numbering = new RegionLabels(grouping, labels);
    for (const sid of sids ?? ofSeries.keys()) {
      work.done = SERIES_WORK;
      if (accepts.every((isAccepted) => isAccepted(sid))) ofSeries[sid] = numbering.numberOf(sid) + 1;
      if (slices.isOver(work.done)) await slices.yield();
    }
    regions.push({ labels: ofSeries, sids });
  }
  return { labels: labels.all, regions };
}

/** Returns the series of a region, if all that a query selects are known without their tags; undefined otherwise. */
function withOneLabel(
  { labelTags, tagConditions }: KernelQuery,
  { selected: sids }: RegionSource,
  source: TableSource,
): RegionSeries | undefined {
  if (labelTags.length > 0) return undefined;
  if (tagConditions.length === 0) return { labels: undefined, sids };
  if (sids === undefined || !tagConditions.every((condition) => isSelection(condition, source))) return undefined;
  return { labels: onlyLabel(sids), sids };
}

/** Reports whether all series that are selected satisfy a condition, because they are selected by it. */
function isSelection({ tag, accepted, isNegated }: TagFilter, { tagValues }: TableSource): boolean {
  const values = tagValues.get(tag.id);
  if (isNegated || 'kind' in accepted || values?.length !== accepted.length) return false;
  return accepted.every((value, i) => value === values[i]);
}

/** Returns the labels of series that all have the first one. */
function onlyLabel(sids: Int32Array): Int32Array {
  const labels = new Int32Array((sids.at(-1) ?? -1) + 1);
  for (let i = 0; i < sids.length; i++) labels[sids[i]] = 1;
  return labels;
}

/** A series takes as long as about this many numbers. */
const SERIES_WORK = 10;

/** Returns the values of tags of a region's series. @throws `NotForKernels` if the table has no series, or no index of them. */
export async function columnsOf(region: RegionSource, tags: readonly Pick<Column, 'id'>[]): Promise<TagColumn[]> {
  const columns: TagColumn[] = [];
  for (const { id } of tags) {
    const column = await region.tagColumn(id).catch(withoutIndex);
    if (column === undefined) throw new NotForKernels('the table has no series');
    columns.push(column);
  }
  return columns;
}

function withoutIndex(error: unknown): never {
  if (isOutOfMemory(error)) throw new NotNowForKernels(NO_INDEX);
  throw error;
}

/** @param work to which tests of patterns add theirs */
function acceptor(
  { accepted, isNegated }: TagFilter,
  column: TagColumn,
  work: { done: number },
): (sid: number) => boolean {
  const isWanted = 'kind' in accepted ? wantedByPattern(accepted, column, work) : wantedByValue(accepted, column);
  return (sid) => {
    const number = column.ofSeries(sid);
    return number !== -1 && isWanted(number) !== isNegated;
  };
}

function wantedByValue(values: readonly string[], column: TagColumn): (number: number) => boolean {
  const wanted = new Set<number>();
  for (const value of values) {
    const number = column.numberOf(value);
    if (number !== undefined) wanted.add(number);
  }
  return (number) => wanted.has(number);
}

/** Tests each value once, when a series has it. */
function wantedByPattern(pattern: TextPattern, column: TagColumn, work: { done: number }): (number: number) => boolean {
  const test = orNotForKernels(() => testOf(pattern));
  const { values } = column;
  /** 0: not tested, 1: no match, 2: match. */
  const known = new Uint8Array(values.length);
  return (number) => {
    if (known[number] === 0) {
      work.done += test.work ?? PLAIN_WORK;
      known[number] = orNotForKernels(() => test(values[number])) ? 2 : 1;
    }
    return known[number] === 2;
  };
}

function testOf({ kind, pattern }: TextPattern): ValueTest {
  return kind === 'like' ? compileLike(pattern) : compileSearch(pattern);
}

/** Leaves expressions that are invalid, or too slow for a thread that does other work too, to the engine. */
function orNotForKernels<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof AlmanacError)) throw error;
    throw new NotForKernels(`a condition on a tag: ${error.message}`);
  }
}

/** Distinct labels of all regions, by number. */
class Labels {
  readonly all: Label[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(label: Label): number {
    const key = JSON.stringify(label);
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.all.length;
      this.all.push(label);
      this.#numbers.set(key, number);
    }
    return number;
  }
}

/** Finds the label numbers of the series of a region without building each label. */
class RegionLabels {
  readonly #columns: readonly TagColumn[];
  readonly #labels: Labels;
  /** More than the numbers of the values of the selected series: values that are added later are of others. */
  readonly #bases: readonly number[];
  /** For each tag but the first: numbers of the combinations of the values so far. */
  readonly #combinations: readonly Map<number, number>[];
  /** Label number by number of the combination of all values. */
  readonly #known: number[] = [];

  constructor(columns: readonly TagColumn[], labels: Labels) {
    this.#columns = columns;
    this.#labels = labels;
    this.#bases = columns.map(({ values }) => values.length + 1);
    this.#combinations = columns.map(() => new Map<number, number>());
  }

  numberOf(sid: number): number {
    let combination = 0;
    for (let i = 0; i < this.#columns.length; i++) {
      const key = combination * this.#bases[i] + this.#columns[i].ofSeries(sid) + 1;
      const numbers = this.#combinations[i];
      const known = numbers.get(key);
      combination = known ?? numbers.size;
      if (known === undefined) numbers.set(key, combination);
    }
    const label = (this.#known as (number | undefined)[])[combination];
    if (label !== undefined) return label;
    return (this.#known[combination] = this.#labels.numberOf(this.#columns.map((column) => valueOf(column, sid))));
  }
}

function valueOf(column: TagColumn, sid: number): string | null {
  const number = column.ofSeries(sid);
  return number === -1 ? null : column.values[number];
}
