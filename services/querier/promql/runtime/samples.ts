import type { Labels } from '../../series/labels.js';
import type { Histogram } from '../histogram/histogram.js';
import type { Scheduler } from './scheduler.js';

/** A float or a native histogram. */
export type SampleValue = number | Histogram;

/** What functions of counters need to know of a series. */
export interface CounterFacts {
  /** Whether the metric has no name or that of a counter. */
  readonly isNamedCounter: boolean;
  /** Whether there is any reset. */
  readonly hasResets: boolean;
  /** Returns what resets lost from the difference between the ends of the samples `[from, to)`. */
  lost(from: number, to: number): number;
}

/** Stored samples of one series, ascending by time. */
export interface SampleSeries {
  readonly labels: Labels;
  /** Milliseconds. */
  readonly times: Float64Array;
  /** Undefined content where there is a histogram. */
  readonly values: Float64Array;
  /** Absent if all samples are floats. */
  readonly histograms?: readonly (Histogram | undefined)[];
  /** 1 for staleness markers. Absent if there are none. */
  readonly stale?: Uint8Array;
  /** Start time of each sample's counter in milliseconds, 0 if unknown. Absent if all are unknown. */
  readonly startTimes?: Float64Array;
  /** Whether the metric name is dropped when the query ends. */
  readonly isNameDropped?: boolean;
  /** Kept with the samples by the first function that needs them. */
  counter?: CounterFacts | undefined;
}

/** Kind of a step without a sample. */
export const NO_SAMPLE = 0;
/** Kind of a step with a float. */
export const FLOAT_SAMPLE = 1;
/** Kind of a step with a native histogram. */
export const HISTOGRAM_SAMPLE = 2;

/** One series of a vector: at most one sample for each step of the query. */
export interface StepSeries {
  readonly labels: Labels;
  /** Kind of each step's sample. */
  readonly kinds: Uint8Array;
  readonly values: Float64Array;
  /** Undefined if all samples are floats. */
  readonly histograms: (Histogram | undefined)[] | undefined;
  /** Whether the metric name is dropped when the query ends. */
  readonly isNameDropped: boolean;
  /** The floats as text, for series of the range cache. */
  readonly texts: StepTexts | undefined;
}

/** Text of consecutive steps. */
export interface StepTexts {
  readonly text: string;
  /** End of each step's text. */
  readonly ends: Int32Array;
  /** Index of the first step among the ends. */
  readonly from: number;
}

/** A series under construction. */
export interface MutableSeries extends StepSeries {
  histograms: (Histogram | undefined)[] | undefined;
}

/** Makes a series of floats. One function, so that all series have their members in one order (CONTRIBUTING, speed). */
export function floatSeries(
  labels: Labels,
  kinds: Uint8Array,
  values: Float64Array,
  isNameDropped: boolean,
  texts?: StepTexts,
): MutableSeries {
  return { labels, kinds, values, histograms: undefined, isNameDropped, texts };
}

/** Sets the sample of a step to a float. */
export function setFloat({ kinds, values }: MutableSeries, step: number, value: number): void {
  kinds[step] = FLOAT_SAMPLE;
  values[step] = value;
}

/** Sets the sample of a step to a histogram. */
export function setHistogram(series: MutableSeries, step: number, histogram: Histogram): void {
  series.kinds[step] = HISTOGRAM_SAMPLE;
  series.histograms ??= new Array<Histogram | undefined>(series.kinds.length);
  series.histograms[step] = histogram;
}

/** Sets the sample of a step, if there is one. */
export function putSample(series: MutableSeries, step: number, sample: SampleValue | undefined): void {
  if (sample === undefined) return;
  if (typeof sample === 'number') setFloat(series, step, sample);
  else setHistogram(series, step, sample);
}

/** Returns the sample of a step that has one. */
export function sampleAt(series: StepSeries, step: number): SampleValue {
  return series.kinds[step] === HISTOGRAM_SAMPLE ? histogramAt(series, step) : series.values[step];
}

/** Returns the histogram of a step that has one. */
export function histogramAt(
  series: { readonly histograms?: readonly (Histogram | undefined)[] | undefined },
  step: number,
): Histogram {
  const histogram = series.histograms?.[step];
  if (histogram === undefined) throw new RangeError(`no histogram at ${step}`);
  return histogram;
}

/** Reports whether the series has a sample at any step. */
export function hasSamples({ kinds }: StepSeries): boolean {
  for (let step = 0; step < kinds.length; step++) if (kinds[step] !== NO_SAMPLE) return true;
  return false;
}

/** Returns 1 for each step at which one of the series has a sample. */
export async function presence(
  series: readonly StepSeries[],
  { steps, scheduler }: { readonly steps: number; readonly scheduler: Scheduler },
): Promise<Uint8Array> {
  const isPresent = new Uint8Array(steps);
  await scheduler.each(series, 1 + steps, ({ kinds }) => {
    for (let step = 0; step < steps; step++) if (kinds[step] !== NO_SAMPLE) isPresent[step] = 1;
  });
  return isPresent;
}
