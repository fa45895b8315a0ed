import type { Histogram } from '../histogram/histogram.js';
import type { Labels } from '../../series/labels.js';

/** Samples of one series as they were stored, ascending in time. */
export interface SampleSeries {
  readonly labels: Labels;
  /** Milliseconds. */
  readonly times: Float64Array;
  /** Where there is a histogram, anything. */
  readonly values: Float64Array;
  /** Absent where all samples are floats. */
  readonly histograms?: readonly (Histogram | undefined)[];
  /** 1 where the series ended: a staleness marker. Absent if it did not. */
  readonly stale?: Uint8Array;
  /** When the counter of each sample began, milliseconds; 0 where that is not known. Absent if it never is. */
  readonly startTimes?: Float64Array;
  /** Whether the name is to be dropped at the end. */
  readonly isNameDropped?: boolean;
}

/** What a series has at a step. */
export const NO_SAMPLE = 0;
export const FLOAT_SAMPLE = 1;
export const HISTOGRAM_SAMPLE = 2;

/** One series of a vector: a value, or none, for each step of the query. */
export interface StepSeries {
  readonly labels: Labels;
  readonly kinds: Uint8Array;
  readonly values: Float64Array;
  /** Absent where there are only floats. */
  readonly histograms?: (Histogram | undefined)[];
  /** Whether the metric name is dropped when the query ends. */
  readonly isNameDropped: boolean;
  /** Values as they were written before; absent where they are not kept. */
  readonly texts?: KeptTexts | undefined;
}

/** Texts of the values of steps, each made when it is first written. */
export interface KeptTexts {
  readonly all: (string | undefined)[];
  /** Where the first step's is. */
  readonly from: number;
}

/** A series that is being made. */
export interface MutableSeries extends StepSeries {
  histograms?: (Histogram | undefined)[];
}

/** Puts a number at a step. */
export function setFloat({ kinds, values }: MutableSeries, step: number, value: number): void {
  kinds[step] = FLOAT_SAMPLE;
  values[step] = value;
}

/** Puts a histogram at a step. */
export function setHistogram(series: MutableSeries, step: number, histogram: Histogram): void {
  series.kinds[step] = HISTOGRAM_SAMPLE;
  series.histograms ??= new Array<Histogram | undefined>(series.kinds.length);
  series.histograms[step] = histogram;
}

/** The histogram of a step that has one. */
export function histogramAt(
  series: { readonly histograms?: readonly (Histogram | undefined)[] },
  step: number,
): Histogram {
  const histogram = series.histograms?.[step];
  if (histogram === undefined) throw new RangeError(`no histogram at ${step}`);
  return histogram;
}

/** Whether the series has anything at any step. */
export function hasSamples({ kinds }: StepSeries): boolean {
  for (let step = 0; step < kinds.length; step++) if (kinds[step] !== NO_SAMPLE) return true;
  return false;
}
