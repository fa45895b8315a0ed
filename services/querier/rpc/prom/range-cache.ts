import type { PromResult } from '../../promql/index.js';
import { compareLabels, type Labels } from '../../series/labels.js';
import type { CachedTexts, StepSeries } from '../../promql/runtime/samples.js';
import { changedFrom, type DatabaseState } from '../../series/database-state.js';

/** State of the databases of a query, by name. */
export type DatabaseStates = ReadonlyMap<string, DatabaseState>;

/** A range query whose steps can be cached: its expression is `isStepwise`. */
export interface CachedRange {
  /** Identifies everything that the value at a step depends on, apart from the samples. */
  readonly key: string;
  readonly startMs: number;
  readonly stepMs: number;
  readonly steps: number;
  readonly states: DatabaseStates;
}

/** Consecutive steps of a result. */
interface StepRun {
  readonly startMs: number;
  readonly steps: number;
  readonly series: readonly StepSeries[];
}

interface Entry extends StepRun {
  readonly states: DatabaseStates;
  readonly bytes: number;
}

const SERIES_BYTES = 300;
/** Size of the state of a table or region. */
const STATE_BYTES = 150;
/** Size of a step: kind, value and text. */
const STEP_BYTES = 70;
/** Largest share of the cache for one result. */
const ENTRY_SHARE = 0.25;
/** An entry has at most this multiple of the steps of the last query. */
const CACHED_FACTOR = 2;

/**
 * Cache of range query results. A dashboard that repeats a query with a later end computes only the steps that are new or
 * whose samples changed.
 */
export class RangeCache {
  readonly #limitBytes: number;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Returns the result of a range. @param evaluate computes `steps` steps from `startMs` on. */
  async resultOf(
    range: CachedRange,
    evaluate: (startMs: number, steps: number) => Promise<PromResult>,
  ): Promise<PromResult> {
    const cached = this.#usable(range);
    const joined = cached === undefined ? undefined : await extended(range, cached, evaluate);
    if (joined !== undefined) {
      const isWhole = joined.steps <= CACHED_FACTOR * range.steps;
      const steps = isWhole ? joined : { ...range, series: sliced(joined, range) };
      return vectorResult(range, sliced(this.#store(range, steps) ?? joined, range));
    }
    const whole = await evaluate(range.startMs, range.steps);
    const series = cacheableSeries(whole);
    const entry = series === undefined ? undefined : this.#store(range, { ...range, series });
    if (entry !== undefined) return vectorResult(range, entry.series);
    this.#remove(range.key);
    return whole;
  }

  /** Returns the cached steps that are still valid, if they overlap enough with the range. */
  #usable({ key, startMs, stepMs, steps, states }: CachedRange): StepRun | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const changedMs = statesChangedFrom(entry.states, states);
    const validSteps = Math.min(entry.steps, Math.ceil((changedMs - entry.startMs) / stepMs));
    const overlapMs =
      Math.min(entry.startMs + validSteps * stepMs, startMs + steps * stepMs) - Math.max(entry.startMs, startMs);
    // With less than half, two evaluations cost more than they save.
    return overlapMs * 2 >= steps * stepMs ? { ...entry, steps: validSteps } : undefined;
  }

  /** Stores steps. @returns the stored copy; undefined if it is too large. */
  #store({ key, states }: CachedRange, { startMs, steps, series }: StepRun): StepRun | undefined {
    this.#remove(key);
    const bytes = key.length * 2 + bytesOf(states) + series.length * (SERIES_BYTES + steps * STEP_BYTES);
    if (bytes > this.#limitBytes * ENTRY_SHARE) return undefined;
    const entry = { startMs, steps, series: exact(series, steps), states, bytes };
    this.#entries.set(key, entry);
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#limitBytes) break;
      this.#remove(oldest);
    }
    return entry;
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}

/** Copies the first steps to arrays of exactly that length; views would retain larger buffers than counted. */
function exact(all: readonly StepSeries[], steps: number): StepSeries[] {
  const kinds = new Uint8Array(all.length * steps);
  const values = new Float64Array(all.length * steps);
  return all.map((one, i) => {
    const [from, to] = [i * steps, (i + 1) * steps];
    kinds.set(one.kinds.subarray(0, steps), from);
    values.set(one.values.subarray(0, steps), from);
    const texts = { all: noTexts(steps), from: 0 };
    copyTexts(one.texts, texts, steps, 0);
    const arrays = { kinds: kinds.subarray(from, to), values: values.subarray(from, to) };
    return { labels: one.labels, ...arrays, isNameDropped: false, texts };
  });
}

function vectorResult({ steps }: CachedRange, series: readonly StepSeries[]): PromResult {
  return { value: { kind: 'vector', series }, steps, warnings: [], infos: [] };
}

function noTexts(steps: number): (string | undefined)[] {
  return new Array<string | undefined>(steps).fill(undefined);
}

function bytesOf(states: DatabaseStates): number {
  let count = 0;
  for (const state of states.values()) for (const { regions } of state.values()) count += 1 + regions.length;
  return count * STATE_BYTES;
}

function statesChangedFrom(before: DatabaseStates, now: DatabaseStates): number {
  if (before.size !== now.size) return -Infinity;
  let fromMs = Infinity;
  for (const [database, state] of now) {
    const earlier = before.get(database);
    fromMs = Math.min(fromMs, earlier === undefined ? -Infinity : changedFrom(earlier, state));
  }
  return fromMs;
}

/** Returns the series of a result that can be cached: floats without annotations. */
function cacheableSeries({ value, warnings, infos }: PromResult): readonly StepSeries[] | undefined {
  if (value.kind !== 'vector' || warnings.length > 0 || infos.length > 0) return undefined;
  return value.series.some(({ histograms }) => histograms !== undefined) ? undefined : value.series;
}

/** Extends cached steps to a range on both sides. @returns undefined if the new steps cannot be cached. */
async function extended(
  { startMs, stepMs, steps }: CachedRange,
  cached: StepRun,
  evaluate: (startMs: number, steps: number) => Promise<PromResult>,
): Promise<StepRun | undefined> {
  const before = Math.max(0, Math.round((cached.startMs - startMs) / stepMs));
  const cachedEndMs = cached.startMs + cached.steps * stepMs;
  const after = Math.max(0, Math.round((startMs + steps * stepMs - cachedEndMs) / stepMs));
  const parts: StepRun[] = [cached];
  for (const [fromMs, count] of [
    [startMs, before],
    [cachedEndMs, after],
  ]) {
    if (count === 0) continue;
    const series = cacheableSeries(await evaluate(fromMs, count));
    if (series === undefined) return undefined;
    parts.push({ startMs: fromMs, steps: count, series });
  }
  if (parts.length === 1) return cached;
  return joinedSteps(parts, Math.min(startMs, cached.startMs), stepMs);
}

/** Joins adjacent runs of steps. */
function joinedSteps(parts: readonly StepRun[], startMs: number, stepMs: number): StepRun {
  const steps = parts.reduce((sum, part) => sum + part.steps, 0);
  const labelsByKey = new Map<string, Labels>();
  for (const { series } of parts) for (const { labels } of series) labelsByKey.set(labels.key, labels);
  const kinds = new Uint8Array(labelsByKey.size * steps);
  const values = new Float64Array(labelsByKey.size * steps);
  const byKey = new Map<string, StepSeries>();
  let at = 0;
  for (const [key, labels] of labelsByKey) {
    const [from, to] = [at, at + steps];
    const arrays = { kinds: kinds.subarray(from, to), values: values.subarray(from, to) };
    byKey.set(key, { labels, ...arrays, isNameDropped: false, texts: { all: noTexts(steps), from: 0 } });
    at = to;
  }
  for (const part of parts) {
    const offset = Math.round((part.startMs - startMs) / stepMs);
    for (const one of part.series) {
      const target = byKey.get(one.labels.key);
      target?.kinds.set(one.kinds.subarray(0, part.steps), offset);
      target?.values.set(one.values.subarray(0, part.steps), offset);
      copyTexts(one.texts, target?.texts, part.steps, offset);
    }
  }
  const hasNewSeries = labelsByKey.size > parts[0].series.length;
  const series = [...byKey.values()];
  return { startMs, steps, series: hasNewSeries ? series.sort((a, b) => compareLabels(a.labels, b.labels)) : series };
}

/** Returns the steps of a range. */
function sliced(from: StepRun, { startMs, stepMs, steps }: CachedRange): StepSeries[] {
  const offset = Math.round((startMs - from.startMs) / stepMs);
  return from.series.map(({ labels, kinds, values, texts }) => {
    const [first, last] = [offset, offset + steps];
    const arrays = { kinds: kinds.subarray(first, last), values: values.subarray(first, last) };
    const shifted = texts && { all: texts.all, from: texts.from + offset };
    return { labels, ...arrays, isNameDropped: false, texts: shifted };
  });
}

function copyTexts(from: CachedTexts | undefined, to: CachedTexts | undefined, steps: number, offset: number): void {
  if (from === undefined || to === undefined) return;
  for (let step = 0; step < steps; step++) to.all[offset + step] = from.all[from.from + step];
}
