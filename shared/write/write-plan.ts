import type { RegionInfo } from '#shared/contracts/gen/common';
import type { SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import { hasValue } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { selectRows } from '#shared/rowbatch/select-rows';
import { dataType } from '#shared/schema/data-type';
import { withoutImpliedTags } from './implied-tags.js';
import type { TableIndex } from './table-index.js';
import { convertTimes, outsideRange } from './times.js';
import { conflictingRows, type RejectedRow } from './writer-types.js';

/** Rows for one region. */
export interface RegionRows {
  readonly index: TableIndex;
  readonly region: RegionInfo;
  readonly batch: RowBatch;
  /** In the order of `batch.tsids`. */
  readonly series: readonly SeriesEntry[];
  /** `knownBy` of all these series, if it is the same for all. */
  readonly knownBy: object | undefined;
}

/** Rows of one table. */
export type PlannedRows = Omit<RegionRows, 'region'>;

/** The rows of a table builder, and the table that they are for. */
export interface ResolvedTable {
  readonly builder: TableBuilder;
  readonly index: TableIndex;
  /** Whether each column of the rows is in the table with the same type and use. */
  readonly fits: boolean;
  /** Why the table accepts no row; undefined if it does. */
  readonly refusal: string | undefined;
}

/** The rows of one table that are written, and those that are rejected. */
export interface TablePlan extends PlannedRows {
  readonly rejected: readonly RejectedRow[];
}

/** Turns the rows of a builder into a batch of its table; each rejected row counts once. */
export function planTable({ builder, index, fits, refusal }: ResolvedTable, timeType: string): TablePlan {
  const { table } = index;
  // A field that does not fit gets an ID that no column has, since its nulls are needed.
  const batch = builder.finish((name) => (fieldFits(builder, name, index) ? (index.byName.get(name)?.id ?? 0) : 0));
  const rejecting = new RejectingRows(table.name, batch.rowCount);
  if (refusal !== undefined) rejecting.reject([...new Uint32Array(batch.rowCount).keys()], refusal);
  else if (!fits) rejectConflicts(builder, batch, index, rejecting);
  const from = dataType(timeType).timeUnit ?? 'ns';
  // The builder keeps its times: it may be finished again, for a table that replaces this one.
  const times = from === index.timeUnit ? batch.times : batch.times.slice();
  const outside = convertTimes(times, from, index.timeUnit);
  if (outside.length > 0) rejecting.reject(outside, outsideRange(index.timeUnit));

  const columns = fits ? batch.columns : batch.columns.filter((column) => column.columnId !== 0);
  const fitting: RowBatch = { ...batch, times, columns };
  const { rejected } = rejecting;
  const { knownBy } = builder;
  if (rejecting.count === 0) return { index, batch: fitting, series: builder.series, knownBy, rejected };
  const selected = selectRows(fitting, rejecting.remaining());
  const series = Array.from(selected.seriesFrom, (position) => builder.series[position]);
  return { index, batch: selected.batch, series, knownBy, rejected };
}

function fieldFits(builder: TableBuilder, name: string, index: TableIndex): boolean {
  const column = index.byName.get(name);
  return column?.kind === 'field' && column.type === builder.fieldNamed(name)?.type.name;
}

function rejectConflicts(builder: TableBuilder, batch: RowBatch, index: TableIndex, rejecting: RejectingRows): void {
  rejectTagConflicts(builder, batch, index, rejecting);
  // `finish` omits fields without values and keeps the order of the others.
  const fields = builder.fields.filter((field) => field.setCount > 0);
  for (const [i, column] of batch.columns.entries()) {
    if (column.columnId !== 0) continue;
    const rows: number[] = [];
    for (let row = 0; row < batch.rowCount; row++) if (hasValue(column, row)) rows.push(row);
    rejecting.rejectColumn(rows, fields[i].name, fields[i].type.name, index);
  }
}

function rejectTagConflicts(builder: TableBuilder, batch: RowBatch, index: TableIndex, rejecting: RejectingRows): void {
  const bySeries = new Map<number, string>();
  for (const [position, series] of builder.series.entries()) {
    const tag =
      series.columnsIn === index.table.tableId
        ? undefined
        : series.tags.find((it) => !tagFits(builder, it.name, index));
    if (tag !== undefined) bySeries.set(position, tag.name);
  }
  if (bySeries.size === 0) return;
  const byName = new Map<string, number[]>();
  for (let row = 0; row < batch.rowCount; row++) {
    const name = bySeries.get(batch.seriesIndex[row]);
    if (name === undefined) continue;
    const rows = byName.get(name);
    if (rows === undefined) byName.set(name, [row]);
    else rows.push(row);
  }
  for (const [name, rows] of byName) rejecting.rejectColumn(rows, name, 'tag', index);
}

function tagFits(builder: TableBuilder, name: string, index: TableIndex): boolean {
  const column = index.byName.get(name);
  return column?.kind === 'tag' && column.type === builder.tagType(name);
}

/** Collects the rejected rows of a batch; the first reason of a row counts. */
class RejectingRows {
  readonly rejected: RejectedRow[] = [];
  count = 0;
  readonly #table: string;
  readonly #isRejected: Uint8Array;

  constructor(table: string, rowCount: number) {
    this.#table = table;
    this.#isRejected = new Uint8Array(rowCount);
  }

  /** @param given native type of the field, or `tag`. */
  rejectColumn(rows: readonly number[], column: string, given: string, index: TableIndex): void {
    const existing = index.byName.get(column);
    if (existing?.kind === 'time') {
      this.reject(rows, `column "${column}" is the time index of table "${this.#table}"`);
      return;
    }
    const other = existing === undefined ? index.byFoldedName.get(column.toLowerCase()) : undefined;
    if (other !== undefined) {
      this.reject(rows, `columns "${other.name}" and "${column}" of table "${this.#table}" differ only by letter case`);
      return;
    }
    const rowCount = this.#count(rows);
    if (rowCount === 0) return;
    const isTypedTag = existing?.kind === 'tag' && given !== 'tag';
    const existingText = isTypedTag ? 'tag' : (existing?.type ?? '');
    this.rejected.push(conflictingRows(this.#table, { column, given, existing: existingText }, rowCount));
  }

  reject(rows: readonly number[], reason: string): void {
    const rowCount = this.#count(rows);
    if (rowCount > 0) this.rejected.push({ table: this.#table, reason, rowCount });
  }

  remaining(): Uint32Array {
    const rows = new Uint32Array(this.#isRejected.length - this.count);
    let at = 0;
    for (let row = 0; row < this.#isRejected.length; row++) if (this.#isRejected[row] === 0) rows[at++] = row;
    return rows;
  }

  #count(rows: readonly number[]): number {
    let added = 0;
    for (const row of rows) {
      if (this.#isRejected[row] === 1) continue;
      this.#isRejected[row] = 1;
      added++;
    }
    this.count += added;
    return added;
  }
}

/** Returns the region of a series, by the upper half of its ID. */
export function regionOf(tsidHigh: number, regionCount: number): number {
  return Math.floor((tsidHigh * regionCount) / 4294967296);
}

/**
 * Splits rows by region. In append mode there are no versions of a row to keep together, so a whole batch goes to one
 * region.
 *
 * @param counter chooses the region in append mode.
 */
export function splitRows(planned: PlannedRows, counter: number): RegionRows[] {
  const { index, batch, series, knownBy } = withoutImpliedTags(planned);
  const { regions } = index;
  if (batch.rowCount === 0) return [];
  if (regions.length === 1) return [{ index, region: regions[0], batch, series, knownBy }];
  if (index.isAppendOnly) return [{ index, region: regions[counter % regions.length], batch, series, knownBy }];

  const regionOfSeries = regionsOfSeries(batch.tsids, regions.length);
  const counts = new Uint32Array(regions.length);
  for (let row = 0; row < batch.rowCount; row++) counts[regionOfSeries[batch.seriesIndex[row]]]++;
  const parts: RegionRows[] = [];
  for (const [k, region] of regions.entries()) {
    if (counts[k] === batch.rowCount) return [{ index, region, batch, series, knownBy }];
    if (counts[k] === 0) continue;
    const selected = selectRows(batch, rowsOf(k, counts[k], batch.seriesIndex, regionOfSeries));
    const used = Array.from(selected.seriesFrom, (position) => series[position]);
    parts.push({ index, region, batch: selected.batch, series: used, knownBy });
  }
  return parts;
}

function regionsOfSeries(tsids: BigUint64Array, regionCount: number): Uint16Array {
  const words = new Uint32Array(tsids.buffer, tsids.byteOffset, tsids.length * 2);
  const regions = new Uint16Array(tsids.length);
  for (let i = 0; i < regions.length; i++) regions[i] = regionOf(words[2 * i + 1], regionCount);
  return regions;
}

function rowsOf(region: number, count: number, seriesIndex: Uint32Array, regionOfSeries: Uint16Array): Uint32Array {
  const rows = new Uint32Array(count);
  let at = 0;
  for (let row = 0; row < seriesIndex.length; row++) {
    if (regionOfSeries[seriesIndex[row]] === region) rows[at++] = row;
  }
  return rows;
}
