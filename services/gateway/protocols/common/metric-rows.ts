import { encodeHistogram } from '#shared/histogram/histogram-bytes';
import type { NativeHistogram } from '#shared/histogram/native-histogram';
import { BatchSet, SeriesEntry, type TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { seriesId, type Tag } from '#shared/rowbatch/series-key';
import { EXEMPLAR_COLUMNS, METADATA_COLUMNS, type MetricNames } from '#shared/schema/metric-table';
import type { WriteOptions } from '#shared/write/writer-types';

import type { AdditionalWrite } from '../protocol.js';
import type { KnownSeries, MetricTarget, NumberedSeries } from './metric-series.js';

/** Options of the rows of one request. */
export interface MetricRowsOptions {
  readonly names: MetricNames;
  /** Options of the physical metric tables. */
  readonly write: WriteOptions;
  /** Physical table of series whose labels name none. */
  readonly defaultTable: string;
  readonly nowMs: number;
}

/** A double and its time as 32-bit words, the low one first. */
export interface MetricSample {
  readonly valueLow: number;
  readonly valueHigh: number;
  /** Milliseconds since 1970. */
  readonly timeLow: number;
  readonly timeHigh: number;
  /** Start of the counter in milliseconds since 1970; 0 if it is not known. */
  readonly startMs: number;
}

/** Samples of series by number. */
export interface NumberedSamples {
  readonly rowCount: number;
  /** Milliseconds since 1970. */
  readonly times: BigInt64Array;
  readonly values: Float64Array;
  /** Of the series of each sample. */
  readonly numbers: Uint32Array;
}

/** A histogram and its time in milliseconds since 1970. */
export interface HistogramSample {
  readonly histogram: NativeHistogram;
  readonly timeLow: number;
  readonly timeHigh: number;
}

/** Metadata of a metric family. */
export interface MetricFamily {
  readonly metric: string;
  readonly type: string;
  readonly unit: string;
  readonly help: string;
}

/** Limit of the texts of exemplars, and of those of metadata, in one request: each may repeat the labels of a series. */
const TEXT_BYTES_MAX = 16 * 1024 * 1024;

/** Columns of one physical metric table. */
interface Columns {
  readonly builder: TableBuilder;
  readonly value: FieldBuilder;
}

/** Rows of one database. */
class DatabaseRows {
  readonly metrics: BatchSet;
  readonly exemplars = new BatchSet();
  readonly metadata = new BatchSet();
  /** Metrics that have exemplars. */
  readonly exemplarSeries = new Map<string, SeriesEntry>();

  constructor(metrics: BatchSet) {
    this.metrics = metrics;
  }
}

/** The rows of one request: samples and histograms in metric tables, exemplars and metadata in tables of their own. */
export class MetricRows {
  rowCount = 0;
  sampleCount = 0;
  histogramCount = 0;
  #exemplarBytes = 0;
  #metadataBytes = 0;
  readonly #options: MetricRowsOptions;
  readonly #databases = new Map<string, DatabaseRows>();
  readonly #columns = new Map<MetricTarget, Columns>();
  #lastTarget: MetricTarget | undefined = undefined;
  #last: Columns | undefined = undefined;

  /** @param batches receives the rows for the metric tables of the request's own database. */
  constructor(options: MetricRowsOptions, batches: BatchSet) {
    this.#options = options;
    this.#databases.set(options.write.database, new DatabaseRows(batches));
  }

  addSample(series: KnownSeries, sample: MetricSample): void {
    const { builder, value } = this.#columnsOf(series.target);
    const row = builder.rowCount;
    builder.startRow(series.entry);
    value.setDoubleWords(row, sample.valueLow, sample.valueHigh);
    if (sample.startMs !== 0) this.#setStart(builder, row, sample.startMs);
    builder.endRow(sample.timeLow, sample.timeHigh);
    this.rowCount++;
    this.sampleCount++;
  }

  /** Adds samples of series that are known by number, a whole array at a time where all have the same target. */
  addSamples({ all, entries, target }: NumberedSeries, { rowCount, times, values, numbers }: NumberedSamples): void {
    if (target !== undefined) {
      const { builder, value } = this.#columnsOf(target);
      value.setDoubles(builder.rowCount, values);
      builder.appendRows(entries, numbers, times);
      this.rowCount += rowCount;
      this.sampleCount += rowCount;
      return;
    }
    const valueWords = new Int32Array(values.buffer, values.byteOffset, 2 * rowCount);
    const timeWords = new Int32Array(times.buffer, times.byteOffset, 2 * rowCount);
    for (let i = 0; i < rowCount; i++) {
      const [valueLow, valueHigh] = [valueWords[2 * i], valueWords[2 * i + 1]];
      const [timeLow, timeHigh] = [timeWords[2 * i], timeWords[2 * i + 1]];
      this.addSample(all[numbers[i]], { valueLow, valueHigh, timeLow, timeHigh, startMs: 0 });
    }
  }

  addHistogram(series: KnownSeries, { histogram, timeLow, timeHigh }: HistogramSample): void {
    const { builder } = this.#columnsOf(series.target);
    const row = builder.rowCount;
    const bytes = encodeHistogram(histogram);
    builder.startRow(series.entry);
    builder.field(this.#options.names.histogramColumn, 'Binary').setBytes(row, bytes, 0, bytes.length);
    if (histogram.startMs !== 0) this.#setStart(builder, row, histogram.startMs);
    builder.endRow(timeLow, timeHigh);
    this.rowCount++;
    this.histogramCount++;
  }

  /**
   * Adds an exemplar, unless the request has too many of them.
   *
   * @param labels labels of the series and of the exemplar, as JSON.
   */
  addExemplar(
    { metric, target }: KnownSeries,
    exemplar: MetricSample,
    labels: { readonly series: string; readonly exemplar: string },
  ): void {
    this.#exemplarBytes += labels.series.length + labels.exemplar.length;
    if (this.#exemplarBytes > TEXT_BYTES_MAX) return;
    const { names } = this.#options;
    const database = this.#database(target.database);
    const builder = database.exemplars.table(names.exemplarsTable);
    let entry = database.exemplarSeries.get(metric);
    if (entry === undefined) {
      entry = seriesOf(names.exemplarsTable, [[EXEMPLAR_COLUMNS.metric, metric]]);
      database.exemplarSeries.set(metric, entry);
    }
    const row = builder.rowCount;
    builder.startRow(entry);
    builder.field(EXEMPLAR_COLUMNS.seriesLabels, 'Json').setText(row, labels.series);
    builder.field(EXEMPLAR_COLUMNS.exemplarLabels, 'Json').setText(row, labels.exemplar);
    builder.field(names.valueColumn, 'Float64').setDoubleWords(row, exemplar.valueLow, exemplar.valueHigh);
    builder.endRow(exemplar.timeLow, exemplar.timeHigh);
    this.rowCount++;
  }

  /** Adds metadata. All its rows have the same time, so that metadata that is sent again is the same row. */
  addMetadata({ metric, type, unit, help }: MetricFamily, target: MetricTarget | undefined): void {
    this.#metadataBytes += metric.length + unit.length + help.length;
    if (this.#metadataBytes > TEXT_BYTES_MAX) return;
    const { names, nowMs } = this.#options;
    const builder = this.#database(target?.database).metadata.table(names.metadataTable);
    const row = builder.rowCount;
    const { metric: metricColumn, type: typeColumn, unit: unitColumn, help: helpColumn, seen } = METADATA_COLUMNS;
    const tags = [
      [metricColumn, metric],
      [typeColumn, type],
      [unitColumn, unit],
      [helpColumn, help],
    ] as const;
    builder.startRow(seriesOf(names.metadataTable, tags));
    builder.field(seen, 'Int64').setNumber(row, nowMs);
    builder.endRow(0, 0);
    this.rowCount++;
  }

  /** Returns all rows but those for the metric tables of the request's own database. */
  additionalWrites(): readonly AdditionalWrite[] {
    const { write } = this.#options;
    const writes: AdditionalWrite[] = [];
    for (const [database, { metrics, exemplars, metadata }] of this.#databases) {
      const own = { ...write, database };
      if (database !== write.database && metrics.rowCount > 0) {
        writes.push({ kind: 'rows', isOptional: false, batches: metrics, write: own });
      }
      if (exemplars.rowCount > 0) {
        const exemplarWrite = { ...own, tableOptions: { append_mode: 'true' } };
        writes.push({ kind: 'exemplars', isOptional: false, batches: exemplars, write: exemplarWrite });
      }
      if (metadata.rowCount > 0) {
        const metadataWrite = { ...own, tableOptions: { merge_mode: 'last_row' } };
        writes.push({ kind: 'metadata', isOptional: true, batches: metadata, write: metadataWrite });
      }
    }
    return writes;
  }

  #setStart(builder: TableBuilder, row: number, startMs: number): void {
    // An integer that a double does not hold exactly is no time.
    if (!Number.isSafeInteger(startMs)) return;
    builder.field(this.#options.names.startColumn, 'Int64').setNumber(row, startMs);
  }

  #columnsOf(target: MetricTarget): Columns {
    if (this.#lastTarget === target && this.#last !== undefined) return this.#last;
    let columns = this.#columns.get(target);
    if (columns === undefined) {
      const { defaultTable, names } = this.#options;
      const builder = this.#database(target.database).metrics.table(target.table ?? defaultTable);
      columns = { builder, value: builder.field(names.valueColumn, 'Float64') };
      this.#columns.set(target, columns);
    }
    this.#lastTarget = target;
    this.#last = columns;
    return columns;
  }

  #database(named: string | undefined): DatabaseRows {
    const name = named ?? this.#options.write.database;
    let database = this.#databases.get(name);
    if (database === undefined) {
      database = new DatabaseRows(new BatchSet());
      this.#databases.set(name, database);
    }
    return database;
  }
}

/** @param tags names and values; empty values are left out. */
function seriesOf(table: string, tags: readonly (readonly [string, string])[]): SeriesEntry {
  const present: Tag[] = tags
    .filter(([, value]) => value !== '')
    .map(([name, value]) => ({ name, value: Buffer.from(value) }));
  return new SeriesEntry(table, seriesId(present), present);
}
