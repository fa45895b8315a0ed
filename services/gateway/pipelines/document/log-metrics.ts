import { buildError } from '../build-error.js';
import type { Item, KeySlots } from '../item.js';
import { isArray, isObject, printValue, type ObjectValue, type PipelineValue } from '../values/value.js';

const METRICS_MAX = 50;
const LABELS_MAX = 20;
const BUCKETS_MAX = 100;
/** Sets of label values of a request; further items are counted together. */
const SETS_MAX = 10_000;
const LABEL_CHARACTERS_MAX = 1_024;
const NAME_CHARACTERS_MAX = 200;
const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
/** Labels that Almanac sets. */
const OWN_LABELS = ['le', 'instance', 'pipeline', 'overflow'];
const TYPES = ['counter', 'histogram'] as const;
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A metric that a pipeline counts (spec: pipelines 20.2). */
export interface LogMetric {
  readonly name: string;
  readonly type: (typeof TYPES)[number];
  readonly labels: readonly { readonly name: string; readonly slot: number }[];
  /** Slot of the number that is added; undefined to count items. */
  readonly value: number | undefined;
  /** Upper bounds in ascending order, without infinity; empty for counters. */
  readonly buckets: readonly number[];
}

/** Compiles the key `metrics` of a pipeline. @throws `invalid_arguments`. */
export function compileMetrics(given: PipelineValue, slots: KeySlots): LogMetric[] {
  if (given === null) return [];
  if (!isArray(given)) throw buildError('metrics must be a list');
  if (given.length > METRICS_MAX) throw buildError(`pipeline has more than ${METRICS_MAX} metrics`);
  const metrics = given.map((entry, i) => {
    if (!isObject(entry)) throw buildError(`metrics[${i}] must be a map`);
    return compileMetric(entry, `metrics[${i}]`, slots);
  });
  const repeated = metrics.find(({ name }, i) => metrics.findIndex((it) => it.name === name) < i);
  if (repeated !== undefined) throw buildError(`metrics: "${repeated.name}" is defined twice`);
  return metrics;
}

function compileMetric(entry: ObjectValue, at: string, slots: KeySlots): LogMetric {
  const name = entry.get('name');
  if (typeof name !== 'string' || !METRIC_NAME.test(name) || name.length > NAME_CHARACTERS_MAX) {
    throw buildError(`${at}: name must be a metric name of letters, digits, _ and :`);
  }
  const type = TYPES.find((it) => it === entry.get('type'));
  if (type === undefined) throw buildError(`${at}: type must be one of ${TYPES.join(', ')}`);
  const value = valueOf(entry.get('value') ?? null, type, at);
  return {
    name,
    type,
    labels: labelsOf(entry.get('labels') ?? null, at, slots),
    value: value === undefined ? undefined : slots.slotOf(value),
    buckets: bucketsOf(entry.get('buckets') ?? null, type, at),
  };
}

function valueOf(given: PipelineValue, type: LogMetric['type'], at: string): string | undefined {
  if (typeof given === 'string') return given;
  if (given !== null) throw buildError(`${at}: value must be the key of a field`);
  if (type === 'histogram') throw buildError(`${at}: a histogram needs value: the key of a field`);
  return undefined;
}

function labelsOf(given: PipelineValue, at: string, slots: KeySlots): LogMetric['labels'] {
  if (given === null) return [];
  if (!isArray(given)) throw buildError(`${at}: labels must be a list`);
  if (given.length > LABELS_MAX) throw buildError(`${at} has more than ${LABELS_MAX} labels`);
  const labels = given.map((label) => {
    if (typeof label !== 'string') throw buildError(`${at}: a label must be the key of a field, or "key, name"`);
    const [key, name = key] = label.split(',').map((part) => part.trim());
    if (!LABEL_NAME.test(name) || name.startsWith('__') || OWN_LABELS.includes(name)) {
      throw buildError(`${at}: invalid label name "${name.slice(0, 100)}": rename it by "key, name"`);
    }
    return { name, slot: slots.slotOf(key) };
  });
  if (new Set(labels.map(({ name }) => name)).size < labels.length) throw buildError(`${at}: a label is named twice`);
  return labels;
}

function bucketsOf(given: PipelineValue, type: LogMetric['type'], at: string): readonly number[] {
  if (given === null) return type === 'histogram' ? DEFAULT_BUCKETS : [];
  if (type !== 'histogram') throw buildError(`${at}: only a histogram has buckets`);
  if (!isArray(given) || given.length === 0) throw buildError(`${at}: buckets must be a list of numbers`);
  if (given.length > BUCKETS_MAX) throw buildError(`${at} has more than ${BUCKETS_MAX} buckets`);
  const bounds = given.map((bound) => {
    const number = typeof bound === 'bigint' || typeof bound === 'number' ? Number(bound) : Number.NaN;
    if (!Number.isFinite(number)) throw buildError(`${at}: a bucket must be a number, not ${printValue(bound)}`);
    return number;
  });
  if (bounds.some((bound, i) => i > 0 && bound <= bounds[i - 1])) throw buildError(`${at}: buckets must ascend`);
  return bounds;
}

/** What the items of a request add to one series. */
export interface CountChange {
  readonly metric: LogMetric;
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Values of the labels of the metric; undefined for all sets of labels beyond the limit of a request. */
  readonly values: readonly string[] | undefined;
  /** Items whose value is in each bucket, the last one without bound; empty for counters. */
  readonly buckets: Float64Array;
  /** Sum of the values; for a counter without a value the number of items. */
  sum: number;
}

/** What the items of a request add to metrics. */
export class MetricCounts {
  /** By pipeline, metric and values of labels. */
  readonly changes = new Map<string, CountChange>();

  /** Counts an item. Items without a number for the metric are not counted. */
  add(pipeline: string, metrics: readonly LogMetric[], item: Item): void {
    for (const metric of metrics) {
      const number = metric.value === undefined ? 1 : numberOf(item, metric.value);
      if (number === undefined || (metric.type === 'counter' && number < 0)) continue;
      const change = this.#changeOf(pipeline, metric, item);
      change.sum += number;
      if (metric.type === 'histogram') change.buckets[bucketOf(metric.buckets, number)]++;
    }
  }

  #changeOf(pipeline: string, metric: LogMetric, item: Item): CountChange {
    const values: string[] = [];
    let key = `${pipeline.length}:${pipeline}${metric.name}`;
    for (const { slot } of metric.labels) {
      const value = labelText(item, slot);
      values.push(value);
      key += `\0${value.length}:${value}`;
    }
    const known = this.changes.get(key);
    if (known !== undefined) return known;
    if (this.changes.size < SETS_MAX) return this.#addChange(key, { metric, pipeline, values });
    const rest = `${pipeline.length}:${pipeline}${metric.name}\0`;
    return this.changes.get(rest) ?? this.#addChange(rest, { metric, pipeline, values: undefined });
  }

  #addChange(key: string, set: Pick<CountChange, 'metric' | 'pipeline' | 'values'>): CountChange {
    const { metric } = set;
    const buckets = new Float64Array(metric.type === 'histogram' ? metric.buckets.length + 1 : 0);
    const change: CountChange = { ...set, buckets, sum: 0 };
    this.changes.set(key, change);
    return change;
  }
}

function labelText(item: Item, slot: number): string {
  if (item.isMissing(slot)) return '';
  const text = item.isText(slot) ? item.text(slot) : printValue(item.get(slot) ?? null);
  return text.length > LABEL_CHARACTERS_MAX ? text.slice(0, LABEL_CHARACTERS_MAX) : text;
}

function numberOf(item: Item, slot: number): number | undefined {
  const value = item.get(slot) ?? null;
  const number =
    typeof value === 'string' && value.trim() !== ''
      ? Number(value)
      : typeof value === 'bigint' || typeof value === 'number'
        ? Number(value)
        : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

/** Returns the first bucket that holds a number: bounds are inclusive. */
function bucketOf(bounds: readonly number[], number: number): number {
  let bucket = 0;
  while (bucket < bounds.length && number > bounds[bucket]) bucket++;
  return bucket;
}
