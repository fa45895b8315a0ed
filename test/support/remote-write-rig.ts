import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { DecoderV1 } from '#services/gateway/protocols/remotewrite/decode-v1';
import { DecoderV2 } from '#services/gateway/protocols/remotewrite/decode-v2';
import { labelRules, type LabelRules } from '#services/gateway/protocols/common/metric-labels';
import { MetricRows } from '#services/gateway/protocols/common/metric-rows';
import { RemoteWriteCache } from '#services/gateway/protocols/remotewrite/remote-write-cache';
import { decodeHistogram } from '#shared/histogram/histogram-bytes';
import type { NativeHistogram } from '#shared/histogram/native-histogram';
import { BatchSet } from '#shared/rowbatch/builder';
import { hasValue, type Column } from '#shared/rowbatch/column';
import { labelOfColumn } from '#shared/schema/label-column';
import { metricNames } from '#shared/schema/metric-table';

import type { Series } from './remote-write-messages.js';

const NAMES = metricNames({ naming: 'greptime', defaultColumnPrefix: '' });
const WRITE = {
  database: 'public',
  create: true,
  timeIndex: { name: NAMES.timeColumn, type: 'TimestampMillisecond' },
  tableOptions: {},
  timeType: 'TimestampMillisecond',
};
const NOW_MS = 1_700_000_000_000;

/** A row of any of the tables. */
export interface MetricRow {
  readonly database: string;
  readonly table: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly time: bigint;
  /** The bits of a value that is a double. */
  readonly bits?: bigint;
  readonly histogram?: NativeHistogram;
  readonly startMs?: bigint;
  /** Fields of other tables. */
  readonly fields?: Readonly<Record<string, string | number | bigint>>;
}

export interface Decoded {
  readonly rows: readonly MetricRow[];
  readonly reasons: readonly string[];
  readonly rejectedCount: number;
}

/** Decoders as a gateway has them, with a cache that stays from request to request. */
export class RemoteWriteRig {
  readonly cache: RemoteWriteCache;
  readonly #rules: LabelRules;
  /** Bytes of a slice. */
  sliceBytes = 1_000;

  constructor(
    options: { readonly memoryBytes?: number; readonly isLossy?: boolean; readonly isLegacy?: boolean } = {},
  ) {
    const { memoryBytes = 10_000_000, isLossy = false, isLegacy = false } = options;
    this.#rules = labelRules({ isLossy, isLegacy }, NAMES);
    this.cache = new RemoteWriteCache(new CacheMemory(memoryBytes), this.#rules);
  }

  /** Decodes a body and, unless `isKept` is false, has its metadata kept. */
  decode(version: 1 | 2, body: Uint8Array, isKept = true): Decoded {
    const batches = new BatchSet();
    const rows = new MetricRows(
      { names: NAMES, write: WRITE, defaultTable: NAMES.physicalTable, nowMs: NOW_MS },
      batches,
    );
    const options = { cache: this.cache, rules: this.#rules, defaultTable: NAMES.physicalTable };
    // A copy of the exact length, so that a read past the end finds no other bytes.
    const bytes = Buffer.from(Uint8Array.from(body).buffer);
    const decoder = version === 1 ? new DecoderV1(bytes, rows, options) : new DecoderV2(bytes, rows, options);
    while (!decoder.decode(this.sliceBytes)) continue;
    if (isKept) decoder.metadataKept();
    const all = [...rowsOf('public', batches)];
    for (const { batches: further, write } of rows.additionalWrites()) all.push(...rowsOf(write.database, further));
    const { texts, malformedCount } = decoder.rejected;
    return { rows: all, reasons: texts, rejectedCount: malformedCount };
  }
}

function rowsOf(database: string, batches: BatchSet): MetricRow[] {
  const rows: MetricRow[] = [];
  for (const builder of batches.tables.values()) {
    const names: string[] = [];
    const batch = builder.finish((name) => names.push(name) - 1);
    for (let row = 0; row < batch.rowCount; row++) {
      const { tags } = builder.series[batch.seriesIndex[row]];
      const labels = Object.fromEntries(
        tags.map(({ name, value }) => [labelOfColumn(name), Buffer.from(value).toString()]),
      );
      const cells = batch.columns
        .filter((column) => hasValue(column, row))
        .map((column) => {
          return cellOf(names[column.columnId], column, row);
        });
      rows.push({ database, table: builder.table, labels, time: batch.times[row], ...mergedCells(cells) });
    }
  }
  return rows;
}

type Cells = Pick<MetricRow, 'bits' | 'histogram' | 'startMs' | 'fields'>;

function mergedCells(cells: readonly Cells[]): Cells {
  const fields = Object.assign({}, ...cells.map((cell) => cell.fields ?? {})) as NonNullable<MetricRow['fields']>;
  const merged = Object.assign({}, ...cells) as Cells;
  return Object.keys(fields).length === 0 ? merged : { ...merged, fields };
}

function cellOf(name: string, column: Column, row: number): Cells {
  if (column.kind === 'bytes') {
    const bytes = column.bytes.slice(column.offsets[row], column.offsets[row + 1]);
    if (name === NAMES.histogramColumn) return { histogram: decodeHistogram(bytes) };
    return { fields: { [name]: Buffer.from(bytes).toString() } };
  }
  if (name === NAMES.valueColumn) return { bits: new BigUint64Array(column.values.buffer)[row] };
  if (name === NAMES.startColumn) return { startMs: BigInt(column.values[row]) };
  return { fields: { [name]: column.values[row] } };
}

const scratch = new DataView(new ArrayBuffer(8));

/** The bits of a double. */
export function bitsOf(value: number): bigint {
  scratch.setFloat64(0, value);
  return scratch.getBigUint64(0);
}

/** The time of samples that name none. */
export const TIME_MS = 1_700_000_000_123;

/** A row of the default table. */
export function row(labels: Record<string, string>, value: number, timeMs = TIME_MS): MetricRow {
  return { database: 'public', table: 'greptime_physical_table', labels, time: BigInt(timeMs), bits: bitsOf(value) };
}

/** A series of one sample. */
export function one(labels: Series['labels'], value = 1, timestamp = TIME_MS): Series {
  return { labels, samples: [{ value, timestamp }] };
}

/** A field of bytes. */
export function field(tag: number, value: Buffer): Buffer {
  const length: number[] = [];
  let rest = value.length;
  for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([tag, ...length, rest]), value]);
}
