import { LARGE_MIN, wholeText } from '#shared/bytes/whole-text';

import { numberText } from '../../promql/common/number-text.js';
import { histogramJson } from '../../promql/histogram/histogram-text.js';
import type { Labels } from '../../series/labels.js';
import {
  FLOAT_SAMPLE,
  histogramAt,
  NO_SAMPLE,
  type SampleSeries,
  type StepSeries,
  type StepTexts,
} from '../../promql/runtime/samples.js';

/**
 * Formats a time in seconds, with three decimals or none.
 *
 * @see https://prometheus.io/docs/prometheus/latest/querying/api/#expression-query-result-formats
 */
export function timeText(timeMs: number): string {
  const ms = Math.abs(timeMs) % 1000;
  const seconds = Math.floor(Math.abs(timeMs) / 1000);
  const sign = timeMs < 0 ? '-' : '';
  return ms === 0 ? `${sign}${seconds}` : `${sign}${seconds}.${String(ms).padStart(3, '0')}`;
}

const EXPONENT = 'e'.charCodeAt(0);

/** Formats a float without quotes; with an exponent below 1e-6 and from 1e21 on. */
export function floatText(value: number): string {
  if (value >= LARGE_MIN && Number.isSafeInteger(value)) return wholeText(value);
  const plain = `${value}`;
  // The fast path: no exponent, and not 0, which may be -0.
  const hasExponent = plain.length > 3 && plain.charCodeAt(plain.length - 3) === EXPONENT;
  if (value !== 0 && Math.abs(value) < 1e21 && !hasExponent) return plain;
  if (Math.abs(value) === Infinity) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const text = plain;
  // JavaScript uses exponents in the same range, but writes at least one digit where Go writes two.
  return text.at(-3) === 'e' ? `${text.slice(0, -1)}0${text.slice(-1)}` : text;
}

/** Formats labels as a JSON object. */
export function labelSetJson({ json }: Labels): string {
  return json;
}

function quotedNumber(value: number): string {
  return `"${numberText(value)}"`;
}

/** Formats a scalar with its time. */
export function scalarJson(timeMs: number, value: number): string {
  return `[${timeText(timeMs)},${quotedNumber(value)}]`;
}

/** Formats one element of a vector: the sample of the first step. @param time as `timeText` formats it. */
export function vectorElement(series: StepSeries, time: string): string {
  const metric = `{"metric":${labelSetJson(series.labels)}`;
  if (series.kinds[0] === FLOAT_SAMPLE) return `${metric},"value":[${time},"${floatText(series.values[0])}"]}`;
  return `${metric},"histogram":[${time},${histogramJson(histogramAt(series, 0))}]}`;
}

/** Returns the text of a step before its float. */
export function floatHead(timeMs: number): string {
  return `[${timeText(timeMs)},"`;
}

/** Formats the floats of the steps `[from, to)`, each with a comma after it. @param heads `floatHead` of these steps. */
export function floatTexts(
  { kinds, values }: StepSeries,
  heads: readonly string[],
  from: number,
  to: number,
): StepTexts {
  const parts: string[] = [];
  const ends = new Int32Array(to - from);
  let length = 0;
  for (let step = from; step < to; step++) {
    if (kinds[step] === FLOAT_SAMPLE) {
      const head = heads[step - from];
      const value = floatText(values[step]);
      parts.push(head, value, FLOAT_END);
      length += head.length + value.length + FLOAT_END.length;
    }
    ends[step - from] = length;
  }
  // `join` is twice as fast as concatenation.
  return { text: parts.join(''), ends, from: 0 };
}

const FLOAT_END = '"],';

/** Formats one element of a matrix. @param heads returns `floatHead` of each step. */
export function matrixElement(series: StepSeries, heads: () => readonly string[]): string {
  const { kinds, histograms: all, texts } = series;
  const steps = kinds.length;
  let floats: string;
  if (texts === undefined) {
    floats = floatTexts(series, heads(), 0, steps).text;
  } else {
    const { from, ends } = texts;
    floats = steps === 0 ? '' : texts.text.slice(from === 0 ? 0 : ends[from - 1], ends[from + steps - 1]);
  }
  let histograms = '';
  for (let step = 0; all !== undefined && step < steps; step++) {
    if (kinds[step] === NO_SAMPLE || kinds[step] === FLOAT_SAMPLE) continue;
    histograms += `${heads()[step].slice(0, -1)}${histogramJson(histogramAt(series, step))}],`;
  }
  return element(series.labels, floats, histograms);
}

/** Formats one series of a range vector in parts, because all may exceed the maximum length of a string. */
export function* rangeElement({ labels, times, values, histograms }: SampleSeries): Iterable<string> {
  yield `{"metric":${labelSetJson(labels)}`;
  yield* rangeMember('values', times, (i) => {
    return histograms?.[i] === undefined ? `"${floatText(values[i])}"` : undefined;
  });
  if (histograms !== undefined) {
    yield* rangeMember('histograms', times, (i) => histograms[i] && histogramJson(histograms[i]));
  }
  yield '}';
}

/** Number of samples per part. */
const PART_SAMPLES = 1 << 9;

/** Formats a member with all samples that have a text; returns nothing if there are none. */
function* rangeMember(name: string, times: Float64Array, textOf: (i: number) => string | undefined): Iterable<string> {
  let begin = `,"${name}":[`;
  for (let from = 0; from < times.length; from += PART_SAMPLES) {
    let part = '';
    for (let i = from; i < Math.min(from + PART_SAMPLES, times.length); i++) {
      const text = textOf(i);
      if (text === undefined) continue;
      part += `${begin}[${timeText(times[i])},${text}]`;
      begin = ',';
    }
    if (part !== '') yield part;
  }
  if (begin === ',') yield ']';
}

/** @param values each with a comma after it, as in `histograms`. */
function element(labels: Labels, values: string, histograms: string): string {
  const valuesPart = values === '' ? '' : `,"values":[${values.slice(0, -1)}]`;
  const histogramsPart = histograms === '' ? '' : `,"histograms":[${histograms.slice(0, -1)}]`;
  return `{"metric":${labelSetJson(labels)}${valuesPart}${histogramsPart}}`;
}
