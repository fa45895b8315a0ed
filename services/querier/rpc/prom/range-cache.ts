import type { PromResult } from '../../promql/index.js';
import { compareLabels, type Labels } from '../../series/labels.js';
import { floatSeries, type StepSeries, type StepTexts } from '../../promql/runtime/samples.js';
import { floatHead, floatTexts } from './json.js';
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
  /** Whether the arrays of the series have these steps only and are not used elsewhere. */
  readonly isExact?: boolean;
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
    const isExact = validSteps === entry.steps;
    return overlapMs * 2 >= steps * stepMs ? { ...entry, steps: validSteps, isExact } : undefined;
  }

  /** Stores steps. @returns the stored copy; undefined if it is too large. */
  #store({ key, states, stepMs }: CachedRange, { startMs, steps, series, isExact }: StepRun): StepRun | undefined {
    this.#remove(key);
    const bytes = key.length * 2 + bytesOf(states) + series.length * (SERIES_BYTES + steps * STEP_BYTES);
    if (bytes > this.#limitBytes * ENTRY_SHARE) return undefined;
    const own = isExact === true ? series : exact(series, { startMs, stepMs, steps });
    const entry = { startMs, steps, series: own, isExact: true, states, bytes };
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

/** Copies the first steps to arrays of exactly that length, with their texts; views would retain larger buffers than counted. */
function exact(all: readonly StepSeries[], { startMs, stepMs, steps }: StepGrid): StepSeries[] {
  const kinds = new Uint8Array(all.length * steps);
  const values = new Float64Array(all.length * steps);
  const heads = headsOf(startMs, stepMs, steps);
  const copies: StepSeries[] = [];
  for (const one of all) {
    const from = copies.length * steps;
    kinds.set(one.kinds.subarray(0, steps), from);
    values.set(one.values.subarray(0, steps), from);
    const texts = one.texts === undefined ? floatTexts(one, heads, 0, steps) : slicedTexts(one.texts, steps);
    const to = from + steps;
    copies.push(floatSeries(one.labels, kinds.subarray(from, to), values.subarray(from, to), false, texts));
  }
  return copies;
}

/** Times of consecutive steps. */
type StepGrid = Pick<CachedRange, 'startMs' | 'stepMs' | 'steps'>;

function headsOf(startMs: number, stepMs: number, steps: number): string[] {
  return Array.from({ length: steps }, (_, step) => floatHead(startMs + step * stepMs));
}

/** Returns the texts of the first steps alone. */
function slicedTexts({ text, ends, from }: StepTexts, steps: number): StepTexts {
  if (from === 0 && steps === ends.length) return { text, ends, from };
  const begin = from === 0 ? 0 : ends[from - 1];
  const own = ends.slice(from, from + steps);
  for (let step = 0; step < steps; step++) own[step] -= begin;
  return { text: text.slice(begin, begin + (own.at(-1) ?? 0)), ends: own, from: 0 };
}

function vectorResult({ steps }: CachedRange, series: readonly StepSeries[]): PromResult {
  return { value: { kind: 'vector', series }, steps, warnings: [], infos: [] };
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
  const joined = new Map<string, JoinedSeries>();
  for (const { series } of parts) {
    for (const { labels } of series) {
      if (!joined.has(labels.key)) joined.set(labels.key, new JoinedSeries(labels));
    }
  }
  const kinds = new Uint8Array(joined.size * steps);
  const values = new Float64Array(joined.size * steps);
  const ends = new Int32Array(joined.size * steps);
  let at = 0;
  for (const one of joined.values()) {
    one.place(kinds.subarray(at, at + steps), values.subarray(at, at + steps), ends.subarray(at, at + steps));
    at += steps;
  }
  for (const part of [...parts].sort((a, b) => a.startMs - b.startMs)) {
    const offset = Math.round((part.startMs - startMs) / stepMs);
    const heads = part === parts[0] ? [] : headsOf(part.startMs, stepMs, part.steps);
    for (const one of part.series) joined.get(one.labels.key)?.add(one, offset, part.steps, heads);
  }
  const hasNewSeries = joined.size > parts[0].series.length;
  const series = Array.from(joined.values(), (one) => one.series);
  const sorted = hasNewSeries ? series.sort((a, b) => compareLabels(a.labels, b.labels)) : series;
  return { startMs, steps, series: sorted, isExact: true };
}

/** A series whose runs of steps are joined in the order of time. */
class JoinedSeries {
  readonly #labels: Labels;
  #kinds = new Uint8Array(0);
  #values = new Float64Array(0);
  #ends = new Int32Array(0);
  #text = '';
  #steps = 0;

  constructor(labels: Labels) {
    this.#labels = labels;
  }

  /** Sets the arrays for all steps, which have no samples yet. */
  place(kinds: Uint8Array<ArrayBuffer>, values: Float64Array<ArrayBuffer>, ends: Int32Array<ArrayBuffer>): void {
    this.#kinds = kinds;
    this.#values = values;
    this.#ends = ends;
  }

  get series(): StepSeries {
    this.#ends.fill(this.#text.length, this.#steps);
    const texts = { text: this.#text, ends: this.#ends, from: 0 };
    return floatSeries(this.#labels, this.#kinds, this.#values, false, texts);
  }

  /** @param heads of the steps, if they have no texts. */
  add(one: StepSeries, offset: number, steps: number, heads: readonly string[]): void {
    const { kinds, values, texts } = one;
    this.#kinds.set(kinds.length === steps ? kinds : kinds.subarray(0, steps), offset);
    this.#values.set(values.length === steps ? values : values.subarray(0, steps), offset);
    const { text, ends } = texts === undefined ? floatTexts(one, heads, 0, steps) : slicedTexts(texts, steps);
    const before = this.#text.length;
    this.#ends.fill(before, this.#steps, offset);
    if (before === 0) this.#ends.set(ends, offset);
    else for (let step = 0; step < steps; step++) this.#ends[offset + step] = before + ends[step];
    this.#text += text;
    this.#steps = offset + steps;
  }
}

/** Returns the steps of a range. */
function sliced(from: StepRun, { startMs, stepMs, steps }: CachedRange): StepSeries[] {
  const offset = Math.round((startMs - from.startMs) / stepMs);
  const end = offset + steps;
  const slices: StepSeries[] = [];
  for (const { labels, kinds, values, texts } of from.series) {
    const shifted = texts && { text: texts.text, ends: texts.ends, from: texts.from + offset };
    slices.push(floatSeries(labels, kinds.subarray(offset, end), values.subarray(offset, end), false, shifted));
  }
  return slices;
}
