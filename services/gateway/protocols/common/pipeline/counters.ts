import { LRUCache } from 'lru-cache';

import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { ownCall, unlessAborted, type Call } from '#shared/contracts/call';
import type { Config } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet, SeriesEntry } from '#shared/rowbatch/builder';
import { seriesId } from '#shared/rowbatch/series-key';
import { METRIC_NAME, metricNames, PHYSICAL_METRIC_TABLE, type MetricNames } from '#shared/schema/metric-table';
import type { RowWriter } from '#shared/write/writer-types';

import type { CountChange, MetricCounts } from '../../../pipelines/document/log-metrics.js';
import { labelRules, seriesOfLabels, type LabelRules } from '../metric-labels.js';

/** Requests of this much time write one sample of a series, the last of them. */
const WINDOW_MS = 10_000;
const WRITE_TIMEOUT_MS = 30_000;
/** Series of a process; further sets of labels are counted together. */
const SERIES_MAX = 50_000;
const DATABASES_MAX = 1_000;
/** Idempotency keys of requests whose items are counted. */
const KEYS_MAX = 10_000;
const ID_BYTES = 6;
const TIME_TYPE = 'TimestampMillisecond';

/** Dependencies of the counters of a process. */
export interface CountersDeps {
  readonly config: Config;
  readonly writer: RowWriter;
  readonly clock: Clock;
  readonly random: Random;
}

/** A series of a metric table. */
interface CounterSeries {
  readonly entry: SeriesEntry;
  total: number;
  isNew: boolean;
}

/** Series that the process may still add. */
interface SeriesLimit {
  left: number;
}

interface Waiting {
  readonly counts: MetricCounts;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Metrics that pipelines count: cumulative series, which begin with the process at zero and have its ID as `instance`.
 *
 * The requests of a database are written one batch after the other, so that an older total never replaces a newer one.
 */
export class PipelineCounters {
  readonly #deps: CountersDeps;
  readonly #instance: string;
  readonly #databases = new LRUCache<string, DatabaseCounters>({
    max: DATABASES_MAX,
    dispose: ({ seriesCount }) => (this.#limit.left += seriesCount),
  });
  readonly #limit: SeriesLimit = { left: SERIES_MAX };
  readonly #counted = new LRUCache<string, true>({ max: KEYS_MAX });

  constructor(deps: CountersDeps) {
    this.#deps = deps;
    this.#instance = Buffer.from(deps.random.bytes(ID_BYTES)).toString('hex');
  }

  /**
   * Adds what a request counts; its totals are durable when the promise resolves.
   *
   * @param key idempotency key of the request: it is counted once.
   * @throws an error that may heal if the outcome is unknown.
   */
  async add(counts: MetricCounts, database: string, key: string | undefined, call: Call): Promise<void> {
    if (counts.changes.size === 0) return;
    const once = key === undefined ? undefined : JSON.stringify([database, key]);
    if (once !== undefined && this.#counted.has(once)) return;
    let counters = this.#databases.get(database);
    if (counters === undefined) {
      counters = new DatabaseCounters(database, this.#instance, this.#limit, this.#deps);
      this.#databases.set(database, counters);
    }
    await unlessAborted(call, counters.add(counts));
    if (once !== undefined) this.#counted.set(once, true);
  }
}

/** The counters of one database. */
class DatabaseCounters {
  readonly #database: string;
  readonly #instance: string;
  readonly #deps: CountersDeps;
  readonly #limit: SeriesLimit;
  readonly #names: MetricNames;
  readonly #rules: LabelRules;
  readonly #series = new Map<string, CounterSeries>();
  /** Keys of the changes whose labels are distinguished. */
  readonly #labelSets = new Set<string>();
  /** Series that count for the limit of the process. */
  seriesCount = 0;
  #waiting: Waiting[] = [];
  #isWriting = false;
  #windowMs = 0;

  constructor(database: string, instance: string, limit: SeriesLimit, deps: CountersDeps) {
    this.#database = database;
    this.#instance = instance;
    this.#limit = limit;
    this.#deps = deps;
    this.#names = metricNames(deps.config);
    this.#rules = labelRules({ isLossy: false, isLegacy: false }, this.#names);
  }

  add(counts: MetricCounts): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ counts, resolve, reject });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(batch);
        for (const { resolve } of batch) resolve();
      } catch (thrown) {
        // The rows of the requests are stored already, so that this is no fault of theirs.
        const { publicMessage } = AlmanacError.from(thrown);
        const error = new AlmanacError('external', `metrics of the pipeline are not stored: ${publicMessage}`);
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isWriting = false;
  }

  /** Totals grow even if the write fails: it may have been applied, and totals must not fall. */
  async #write(batch: readonly Waiting[]): Promise<void> {
    const { clock, writer } = this.#deps;
    const changed = new Set<CounterSeries>();
    for (const { counts } of batch) {
      for (const [key, change] of counts.changes) this.#apply(key, change, changed);
    }
    const nowMs = clock.nowMs();
    this.#windowMs = Math.max(this.#windowMs, nowMs - (nowMs % WINDOW_MS));
    const batches = new BatchSet();
    for (const series of changed) this.#addRows(batches, series);
    const call = { ...ownCall('pipeline metrics'), deadlineMs: nowMs + WRITE_TIMEOUT_MS };
    await writer.write(
      batches,
      {
        database: this.#database,
        create: true,
        timeIndex: { name: this.#names.timeColumn, type: TIME_TYPE },
        tableOptions: { [PHYSICAL_METRIC_TABLE]: 'true', merge_mode: 'last_row' },
        timeType: TIME_TYPE,
      },
      call,
    );
    for (const series of changed) series.isNew = false;
  }

  /** A new series begins with zero, so that `increase` sees its first value. */
  #addRows(batches: BatchSet, { entry, total, isNew }: CounterSeries): void {
    const builder = batches.table(entry.table);
    const field = builder.field(this.#names.valueColumn, 'Float64');
    for (const [value, timeMs] of isNew
      ? [[0, this.#windowMs - WINDOW_MS] as const, [total, this.#windowMs] as const]
      : [[total, this.#windowMs] as const]) {
      const row = builder.rowCount;
      builder.startRow(entry);
      field.setNumber(row, value);
      builder.endRowAt(BigInt(timeMs));
    }
  }

  #apply(key: string, change: CountChange, changed: Set<CounterSeries>): void {
    const { metric, buckets, sum } = change;
    const labels = this.#labelsOf(key, change);
    const grow = (name: string, more: Readonly<Record<string, string>>, by: number): void => {
      const series = this.#seriesOf({ ...labels, ...more, [METRIC_NAME]: name });
      series.total += by;
      changed.add(series);
    };
    if (metric.type === 'counter') return grow(metric.name, {}, sum);
    let count = 0;
    for (const [i, bound] of [...metric.buckets, Infinity].entries()) {
      count += buckets[i];
      grow(`${metric.name}_bucket`, { le: bound === Infinity ? '+Inf' : String(bound) }, count);
    }
    grow(`${metric.name}_count`, {}, count);
    grow(`${metric.name}_sum`, {}, sum);
  }

  /** Labels of a change; those of too many changes are the same. */
  #labelsOf(key: string, { metric, pipeline, values }: CountChange): Readonly<Record<string, string>> {
    const own = { instance: this.#instance, pipeline };
    if (values === undefined) return { ...own, overflow: 'true' };
    if (!this.#labelSets.has(key)) {
      const count = metric.type === 'counter' ? 1 : metric.buckets.length + 3;
      if (this.#limit.left < count) return { ...own, overflow: 'true' };
      this.#limit.left -= count;
      this.seriesCount += count;
      this.#labelSets.add(key);
    }
    return { ...Object.fromEntries(metric.labels.map(({ name }, i) => [name, values[i]])), ...own };
  }

  #seriesOf(labels: Readonly<Record<string, string>>): CounterSeries {
    const key = JSON.stringify(labels);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const sent = Object.entries(labels).map(([name, value]) => ({ name, value: Buffer.from(value) }));
    const parsed = seriesOfLabels(sent, this.#rules);
    if (typeof parsed === 'string') throw new AlmanacError('invalid_arguments', parsed);
    const entry = new SeriesEntry(this.#names.physicalTable, seriesId(parsed.tags), parsed.tags);
    const series = { entry, total: 0, isNew: true };
    this.#series.set(key, series);
    return series;
  }
}
