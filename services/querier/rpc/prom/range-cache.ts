/**
 * Keeps the answers of range queries, so that a dashboard that asks again a little later computes only the steps that are
 * new or whose samples changed.
 */
import type { PromResult } from '../../promql/index.js';
import { compareLabels, type Labels } from '../../series/labels.js';
import type { CachedTexts, StepSeries } from '../../promql/runtime/samples.js';
import { changedFrom, type DatabaseState } from '../../series/database-state.js';

/** What the databases of a query had, by name. */
export type States = ReadonlyMap<string, DatabaseState>;

/** A range query whose steps are worth keeping: `isStepwise`. */
export interface CachedRange {
  /** Of everything that the value at a step depends on, but the samples. */
  readonly key: string;
  readonly startMs: number;
  readonly stepMs: number;
  readonly steps: number;
  readonly states: States;
}

/** Consecutive steps of some series. */
interface Steps {
  readonly startMs: number;
  readonly steps: number;
  readonly series: readonly StepSeries[];
}

interface Entry extends Steps {
  readonly states: States;
  readonly bytes: number;
}

const SERIES_BYTES = 300;
/** What is known of a table or of a region of one. */
const STATE_BYTES = 150;
/** A step's kind, value and text. */
const STEP_BYTES = 70;
/** An answer may take this share of all. */
const ENTRY_SHARE = 0.25;
/** Steps beyond the last query's own are kept as long as they are not more than its own. */
const KEPT_FACTOR = 2;

export class RangeCache {
  readonly #limitBytes: number;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** @param evaluate computes so many steps from a time on. */
  async answer(
    range: CachedRange,
    evaluate: (startMs: number, steps: number) => Promise<PromResult>,
  ): Promise<PromResult> {
    const kept = this.#usable(range);
    const joined = kept === undefined ? undefined : await extended(range, kept, evaluate);
    if (joined !== undefined) {
      const isKeptWhole = joined.steps <= KEPT_FACTOR * range.steps;
      const wanted = isKeptWhole ? joined : { ...range, series: sliced(joined, range) };
      return answerOf(range, sliced(this.#keep(range, wanted) ?? joined, range));
    }
    const whole = await evaluate(range.startMs, range.steps);
    const series = plainSeries(whole);
    const entry = series === undefined ? undefined : this.#keep(range, { ...range, series });
    if (entry !== undefined) return answerOf(range, entry.series);
    this.#forget(range.key);
    return whole;
  }

  /** The steps that are still true and overlap with the range. */
  #usable({ key, startMs, stepMs, steps, states }: CachedRange): Steps | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const changedMs = statesChangedFrom(entry.states, states);
    const trueSteps = Math.min(entry.steps, Math.ceil((changedMs - entry.startMs) / stepMs));
    const overlapMs =
      Math.min(entry.startMs + trueSteps * stepMs, startMs + steps * stepMs) - Math.max(entry.startMs, startMs);
    // With less than half there is little to win, and two parts cost more than one.
    return overlapMs * 2 >= steps * stepMs ? { ...entry, steps: trueSteps } : undefined;
  }

  /** @returns what is kept; undefined if it is too large. */
  #keep({ key, states }: CachedRange, { startMs, steps, series }: Steps): Steps | undefined {
    this.#forget(key);
    const bytes = key.length * 2 + bytesOf(states) + series.length * (SERIES_BYTES + steps * STEP_BYTES);
    if (bytes > this.#limitBytes * ENTRY_SHARE) return undefined;
    const entry = { startMs, steps, series: exact(series, steps), states, bytes };
    this.#entries.set(key, entry);
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#limitBytes) break;
      this.#forget(oldest);
    }
    return entry;
  }

  #forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}

/** The first steps of series in arrays of just that length: views would keep much more in memory than what is counted. */
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

function answerOf({ steps }: CachedRange, series: readonly StepSeries[]): PromResult {
  return { value: { kind: 'vector', series }, steps, warnings: [], infos: [] };
}

function noTexts(steps: number): (string | undefined)[] {
  return new Array<string | undefined>(steps).fill(undefined);
}

function bytesOf(states: States): number {
  let count = 0;
  for (const state of states.values()) for (const { regions } of state.values()) count += 1 + regions.length;
  return count * STATE_BYTES;
}

function statesChangedFrom(before: States, now: States): number {
  if (before.size !== now.size) return -Infinity;
  let fromMs = Infinity;
  for (const [database, state] of now) {
    const earlier = before.get(database);
    fromMs = Math.min(fromMs, earlier === undefined ? -Infinity : changedFrom(earlier, state));
  }
  return fromMs;
}

/** The series of an answer that can be kept: numbers, and nothing to be said about them. */
function plainSeries({ value, warnings, infos }: PromResult): readonly StepSeries[] | undefined {
  if (value.kind !== 'vector' || warnings.length > 0 || infos.length > 0) return undefined;
  return value.series.some(({ histograms }) => histograms !== undefined) ? undefined : value.series;
}

/** Adds what a range has in front of kept steps and behind them. @returns undefined if that cannot be kept. */
async function extended(
  { startMs, stepMs, steps }: CachedRange,
  kept: Steps,
  evaluate: (startMs: number, steps: number) => Promise<PromResult>,
): Promise<Steps | undefined> {
  const before = Math.max(0, Math.round((kept.startMs - startMs) / stepMs));
  const keptEndMs = kept.startMs + kept.steps * stepMs;
  const behind = Math.max(0, Math.round((startMs + steps * stepMs - keptEndMs) / stepMs));
  const parts: Steps[] = [kept];
  for (const [fromMs, count] of [
    [startMs, before],
    [keptEndMs, behind],
  ]) {
    if (count === 0) continue;
    const series = plainSeries(await evaluate(fromMs, count));
    if (series === undefined) return undefined;
    parts.push({ startMs: fromMs, steps: count, series });
  }
  if (parts.length === 1) return kept;
  return joinedSteps(parts, Math.min(startMs, kept.startMs), stepMs);
}

/** Neighbouring parts as one. */
function joinedSteps(parts: readonly Steps[], startMs: number, stepMs: number): Steps {
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
  const isMore = labelsByKey.size > parts[0].series.length;
  const series = [...byKey.values()];
  return { startMs, steps, series: isMore ? series.sort((a, b) => compareLabels(a.labels, b.labels)) : series };
}

/** The steps of the range. */
function sliced(from: Steps, { startMs, stepMs, steps }: CachedRange): StepSeries[] {
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
