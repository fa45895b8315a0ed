import type { TableBuilder } from '#shared/rowbatch/builder';
import { hasValue } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { selectRows } from '#shared/rowbatch/select-rows';
import { dataType } from '#shared/schema/data-type';
import type { TablePart } from './split.js';
import type { TableIndex } from './table-index.js';
import type { ResolvedTable } from './tables.js';
import { convertTimes, outsideRange } from './times.js';
import { conflictingRows, type RejectedRow } from './writer-types.js';

/** The rows of one table that can be kept, and why others cannot. */
export interface PreparedTable extends TablePart {
  readonly rejected: readonly RejectedRow[];
}

/** Turns the rows of a builder into a batch of its table; each row that is left out counts once. */
export function prepareTable({ builder, index, fits, refusal }: ResolvedTable, timeType: string): PreparedTable {
  const { table } = index;
  // A field that does not fit is finished under a number that no column has, for its nulls.
  const batch = builder.finish((name) => (fieldFits(builder, name, index) ? (index.byName.get(name)?.id ?? 0) : 0));
  const leaving = new LeavingRows(table.name, batch.rowCount);
  if (refusal !== undefined) leaving.refuse([...new Uint32Array(batch.rowCount).keys()], refusal);
  else if (!fits) leaveConflicts(builder, batch, index, leaving);
  const from = dataType(timeType).timeUnit ?? 'ns';
  // The builder's own times stay what they are: it may be finished again, for the table that comes after this one.
  const times = from === index.timeUnit ? batch.times : batch.times.slice();
  const outside = convertTimes(times, from, index.timeUnit);
  if (outside.length > 0) leaving.refuse(outside, outsideRange(index.timeUnit));

  const columns = fits ? batch.columns : batch.columns.filter((column) => column.columnId !== 0);
  const fitting: RowBatch = { ...batch, times, columns };
  const { rejected } = leaving;
  const { knownBy } = builder;
  if (leaving.count === 0) return { index, batch: fitting, series: builder.series, knownBy, rejected };
  const selected = selectRows(fitting, leaving.staying());
  const series = Array.from(selected.seriesFrom, (position) => builder.series[position]);
  return { index, batch: selected.batch, series, knownBy, rejected };
}

function fieldFits(builder: TableBuilder, name: string, index: TableIndex): boolean {
  const column = index.byName.get(name);
  return column?.kind === 'field' && column.type === builder.fieldNamed(name)?.type.name;
}

function leaveConflicts(builder: TableBuilder, batch: RowBatch, index: TableIndex, leaving: LeavingRows): void {
  leaveTagConflicts(builder, batch, index, leaving);
  // `finish` leaves fields without values out and keeps the order of the others.
  const fields = builder.fields.filter((field) => field.setCount > 0);
  for (const [i, column] of batch.columns.entries()) {
    if (column.columnId !== 0) continue;
    const rows: number[] = [];
    for (let row = 0; row < batch.rowCount; row++) if (hasValue(column, row)) rows.push(row);
    leaving.leave(rows, fields[i].name, fields[i].type.name, index);
  }
}

function leaveTagConflicts(builder: TableBuilder, batch: RowBatch, index: TableIndex, leaving: LeavingRows): void {
  const bySeries = new Map<number, string>();
  for (const [position, series] of builder.series.entries()) {
    const tag =
      series.columnsIn === index.table.tableId ? undefined : series.tags.find((it) => !tagFits(it.name, index));
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
  for (const [name, rows] of byName) leaving.leave(rows, name, 'tag', index);
}

function tagFits(name: string, index: TableIndex): boolean {
  const column = index.byName.get(name);
  return column?.kind === 'tag' && column.type === 'String';
}

/** Rows that leave a batch; the first reason for a row counts. */
class LeavingRows {
  readonly rejected: RejectedRow[] = [];
  count = 0;
  readonly #table: string;
  readonly #leaves: Uint8Array;

  constructor(table: string, rowCount: number) {
    this.#table = table;
    this.#leaves = new Uint8Array(rowCount);
  }

  /** @param given native type of the field, or `tag`. */
  leave(rows: readonly number[], column: string, given: string, index: TableIndex): void {
    const existing = index.byName.get(column);
    if (existing?.kind === 'time') {
      this.refuse(rows, `column "${column}" is the time index of table "${this.#table}"`);
      return;
    }
    const other = existing === undefined ? index.byFoldedName.get(column.toLowerCase()) : undefined;
    if (other !== undefined) {
      this.refuse(rows, `columns "${other.name}" and "${column}" of table "${this.#table}" differ only by letter case`);
      return;
    }
    const rowCount = this.#take(rows);
    if (rowCount === 0) return;
    const isTypedTag = existing?.kind === 'tag' && given !== 'tag';
    const existingText = isTypedTag ? 'tag' : (existing?.type ?? '');
    this.rejected.push(conflictingRows(this.#table, { column, given, existing: existingText }, rowCount));
  }

  refuse(rows: readonly number[], reason: string): void {
    const rowCount = this.#take(rows);
    if (rowCount > 0) this.rejected.push({ table: this.#table, reason, rowCount });
  }

  staying(): Uint32Array {
    const rows = new Uint32Array(this.#leaves.length - this.count);
    let at = 0;
    for (let row = 0; row < this.#leaves.length; row++) if (this.#leaves[row] === 0) rows[at++] = row;
    return rows;
  }

  #take(rows: readonly number[]): number {
    let taken = 0;
    for (const row of rows) {
      if (this.#leaves[row] === 1) continue;
      this.#leaves[row] = 1;
      taken++;
    }
    this.count += taken;
    return taken;
  }
}
