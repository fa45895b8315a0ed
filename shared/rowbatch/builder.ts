import type { Column } from './column.js';
import { FieldBuilder } from './field-builder.js';
import type { RowBatch } from './row-batch.js';
import type { Tag } from './series-key.js';

const FIRST_CAPACITY = 256;

/**
 * A series as a sender knows it. The last two members are scratch space of whoever builds or sends batches; they are
 * here because a lookup per row or request would cost more than all else.
 */
export class SeriesEntry {
  readonly table: string;
  readonly tsid: bigint;
  readonly tags: readonly Tag[];
  /** The batch whose list of series this was last put into, and the place there. */
  listedIn: TableBuilder | undefined = undefined;
  listedAt = 0;
  /** The owner that is known to have the definition (`shared/write/known-series.ts`). */
  knownBy: object | undefined = undefined;
  /** Id of the table that is known to have a column for each of the tags. */
  columnsIn = 0;

  constructor(table: string, tsid: bigint, tags: readonly Tag[]) {
    this.table = table;
    this.tsid = tsid;
    this.tags = tags;
  }
}

/** Rows of one table while a request is decoded. */
export class TableBuilder {
  readonly table: string;
  rowCount = 0;
  readonly series: SeriesEntry[] = [];
  /** In order of first appearance; includes columns whose rows were all undone. */
  readonly fields: FieldBuilder[] = [];
  #byName = new Map<string, FieldBuilder>();
  #seriesIndex = new Uint32Array(FIRST_CAPACITY);
  #times = new BigInt64Array(FIRST_CAPACITY);
  #timeWords = new Int32Array(this.#times.buffer);
  /** Whether the row under way brought its series into the list. */
  #listedNow = false;

  constructor(table: string) {
    this.table = table;
  }

  /** Begins row `rowCount`. It counts only after `endRow`. */
  startRow(series: SeriesEntry): void {
    if (this.rowCount === this.#seriesIndex.length) this.#grow();
    this.#listedNow = series.listedIn !== this;
    if (this.#listedNow) {
      series.listedIn = this;
      series.listedAt = this.series.length;
      this.series.push(series);
    }
    this.#seriesIndex[this.rowCount] = series.listedAt;
  }

  /** The column of that name, made with `type` if the batch has none yet; its type may be another one. */
  field(name: string, type: string): FieldBuilder {
    let field = this.#byName.get(name);
    if (field === undefined) {
      field = new FieldBuilder(name, type);
      this.#byName.set(name, field);
      this.fields.push(field);
    } else if (field.setCount === 0 && field.type.name !== type) {
      // Only rows that were taken back used the name so far: the first row that stays decides the type.
      const fresh = new FieldBuilder(name, type);
      this.fields[this.fields.indexOf(field)] = fresh;
      this.#byName.set(name, fresh);
      return fresh;
    }
    return field;
  }

  fieldNamed(name: string): FieldBuilder | undefined {
    return this.#byName.get(name);
  }

  /** Ends the row with its time as the two 32-bit halves of a 64-bit integer. */
  endRow(timeLow: number, timeHigh: number): void {
    const row = this.rowCount;
    this.#timeWords[2 * row] = timeLow;
    this.#timeWords[2 * row + 1] = timeHigh;
    this.rowCount = row + 1;
  }

  endRowAt(time: bigint): void {
    this.#times[this.rowCount] = time;
    this.rowCount++;
  }

  /** Takes the row back that was started and not ended. */
  undoRow(): void {
    for (const field of this.fields) field.undo(this.rowCount);
    if (!this.#listedNow) return;
    const series = this.series.pop();
    if (series !== undefined) series.listedIn = undefined;
    this.#listedNow = false;
  }

  /**
   * The rows as a batch.
   *
   * @param columnIdOf the table's column id of a field name.
   */
  finish(columnIdOf: (name: string) => number): RowBatch {
    const columns: Column[] = [];
    for (const field of this.fields) {
      if (field.setCount === 0) continue;
      const column = field.finish(columnIdOf(field.name), this.rowCount);
      if (column !== undefined) columns.push(column);
    }
    const tsids = new BigUint64Array(this.series.length);
    for (let i = 0; i < tsids.length; i++) tsids[i] = this.series[i].tsid;
    return {
      rowCount: this.rowCount,
      tsids,
      seriesIndex: this.#seriesIndex.slice(0, this.rowCount),
      times: this.#times.slice(0, this.rowCount),
      columns,
    };
  }

  #grow(): void {
    const capacity = this.#seriesIndex.length * 2;
    const seriesIndex = new Uint32Array(capacity);
    seriesIndex.set(this.#seriesIndex);
    this.#seriesIndex = seriesIndex;
    const times = new BigInt64Array(capacity);
    times.set(this.#times);
    this.#times = times;
    this.#timeWords = new Int32Array(times.buffer);
  }
}

/** All rows of one request, by table. */
export class BatchSet {
  readonly tables = new Map<string, TableBuilder>();

  table(name: string): TableBuilder {
    let table = this.tables.get(name);
    if (table === undefined) {
      table = new TableBuilder(name);
      this.tables.set(name, table);
    }
    return table;
  }

  get rowCount(): number {
    let rows = 0;
    for (const table of this.tables.values()) rows += table.rowCount;
    return rows;
  }
}
