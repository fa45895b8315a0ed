import type { Column } from './column.js';
import type { FieldBuilder } from './field-builder.js';
import { BuilderPool, RowStorage } from './builder-pool.js';
import type { RowBatch } from './row-batch.js';
import type { Tag } from './series-key.js';

/**
 * A series as a sender knows it. Members that can change are scratch space of whoever builds or sends batches; they
 * are here because a lookup per row or request would cost more than all else.
 */
export class SeriesEntry {
  readonly table: string;
  /** The two halves of the id, as signed words. */
  readonly tsidLow: number;
  readonly tsidHigh: number;
  /** Where this was last put into the list of series of a batch; it may be another batch than the one at hand. */
  listedAt = 0;
  /** The owner that is known to have the definition (`shared/write/known-series.ts`). */
  knownBy: object | undefined = undefined;
  /** Id of the table that is known to have a column for each of the tags. */
  columnsIn = 0;
  readonly #tags: readonly Tag[] | (() => readonly Tag[]);

  /** @param tags or how to find them again: of a hundred thousand known series most are never asked for their tags. */
  constructor(table: string, tsid: bigint, tags: readonly Tag[] | (() => readonly Tag[])) {
    this.table = table;
    this.tsidLow = Number(BigInt.asIntN(32, tsid));
    this.tsidHigh = Number(BigInt.asIntN(32, tsid >> 32n));
    this.#tags = tags;
  }

  get tsid(): bigint {
    return (BigInt(this.tsidHigh >>> 0) << 32n) | BigInt(this.tsidLow >>> 0);
  }

  get tags(): readonly Tag[] {
    return typeof this.#tags === 'function' ? this.#tags() : this.#tags;
  }
}

/** Rows of one table while a request is decoded. */
export class TableBuilder {
  readonly table: string;
  rowCount = 0;
  readonly series: SeriesEntry[] = [];
  /** In order of first appearance; includes columns whose rows were all undone. */
  readonly fields: FieldBuilder[] = [];
  /** `knownBy` and `columnsIn` of all its series when they were listed, if they are the same; undefined and 0 if not. */
  knownBy: object | undefined = undefined;
  columnsIn = 0;
  readonly #pool: BuilderPool;
  readonly #byName = new Map<string, FieldBuilder>();
  #rows: RowStorage;
  /** Whether the row under way brought its series into the list. */
  #listedNow = false;

  constructor(table: string, pool: BuilderPool = new BuilderPool(0)) {
    this.table = table;
    this.#pool = pool;
    this.#rows = pool.takeRows();
  }

  /** Begins row `rowCount`. It counts only after `endRow`. */
  startRow(series: SeriesEntry): void {
    const row = this.rowCount;
    if (row === this.#rows.capacity) this.#rows = this.#rows.grown();
    this.#listedNow = this.series[series.listedAt] !== series;
    if (this.#listedNow) this.#list(series);
    this.#rows.seriesIndex[row] = series.listedAt;
  }

  /** Notes all that is needed of a series as long as the processor has it at hand: later it would be a walk over all. */
  #list(series: SeriesEntry): void {
    const place = this.series.length;
    series.listedAt = place;
    this.series.push(series);
    const { tsidWords } = this.#rows;
    tsidWords[2 * place] = series.tsidLow;
    tsidWords[2 * place + 1] = series.tsidHigh;
    if (place === 0) {
      this.knownBy = series.knownBy;
      this.columnsIn = series.columnsIn;
      return;
    }
    if (series.knownBy !== this.knownBy) this.knownBy = undefined;
    if (series.columnsIn !== this.columnsIn) this.columnsIn = 0;
  }

  /** The column of that name, made with `type` if the batch has none yet; its type may be another one. */
  field(name: string, type: string): FieldBuilder {
    let field = this.#byName.get(name);
    if (field === undefined) {
      field = this.#pool.takeField(name, type);
      this.#byName.set(name, field);
      this.fields.push(field);
    } else if (field.setCount === 0 && field.type.name !== type) {
      // Only rows that were taken back used the name so far: the first row that stays decides the type.
      const fresh = this.#pool.takeField(name, type);
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
    const { timeWords } = this.#rows;
    timeWords[2 * row] = timeLow;
    timeWords[2 * row + 1] = timeHigh;
    this.rowCount = row + 1;
  }

  endRowAt(time: bigint): void {
    this.#rows.times[this.rowCount] = time;
    this.rowCount++;
  }

  /** Takes the row back that was started and not ended. */
  undoRow(): void {
    for (const field of this.fields) field.undo(this.rowCount);
    if (this.#listedNow) this.series.pop();
    this.#listedNow = false;
  }

  /**
   * The rows as a batch, most of whose arrays are views: to be used before more rows come, and before `release`.
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
    const { tsids, seriesIndex, times } = this.#rows;
    return {
      rowCount: this.rowCount,
      tsids: tsids.subarray(0, this.series.length),
      seriesIndex: seriesIndex.subarray(0, this.rowCount),
      times: times.subarray(0, this.rowCount),
      columns,
    };
  }

  /** Gives all arrays to the pool; the builder is empty afterwards. */
  release(): void {
    this.#pool.giveRows(this.#rows);
    for (const field of this.fields) this.#pool.giveField(field);
    this.#rows = new RowStorage(0);
    this.rowCount = 0;
    this.series.length = 0;
    this.fields.length = 0;
    this.#byName.clear();
  }
}

/** All rows of one request, by table. */
export class BatchSet {
  readonly tables = new Map<string, TableBuilder>();
  readonly #pool: BuilderPool | undefined;

  /** @param pool where arrays come from, and go to by `release`. */
  constructor(pool?: BuilderPool) {
    this.#pool = pool;
  }

  table(name: string): TableBuilder {
    let table = this.tables.get(name);
    if (table === undefined) {
      table = new TableBuilder(name, this.#pool);
      this.tables.set(name, table);
    }
    return table;
  }

  get rowCount(): number {
    let rows = 0;
    for (const table of this.tables.values()) rows += table.rowCount;
    return rows;
  }

  /** Ends the use of all builders: nobody may hold one of them any more. */
  release(): void {
    for (const table of this.tables.values()) table.release();
    this.tables.clear();
  }
}
