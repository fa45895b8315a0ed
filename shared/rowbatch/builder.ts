import type { Column } from './column.js';
import type { FieldBuilder } from './field-builder.js';
import { BuilderPool, RowStorage } from './builder-pool.js';
import type { RowBatch } from './row-batch.js';
import type { Tag } from './series-key.js';

/**
 * A series as a sender writes it. The mutable members are scratch space of the code that builds or sends batches: a lookup
 * per row or request would cost more than everything else.
 */
export class SeriesEntry {
  readonly table: string;
  /** The two halves of the ID, as signed words. */
  readonly tsidLow: number;
  readonly tsidHigh: number;
  /** Position at which this was last put into a batch's list of series; that may have been another batch. */
  listedAt = 0;
  /** The owner that is known to have the definition (`shared/write/known-series.ts`). */
  knownBy: object | undefined = undefined;
  /** ID of the table that is known to have a column for each of the tags. */
  columnsIn = 0;
  /** The most bytes that its definition takes; 0: unknown. */
  definitionBytesMax = 0;
  /** Names of the tags, if they are known without finding these. */
  readonly names: readonly string[] | undefined;
  readonly #tags: readonly Tag[] | (() => readonly Tag[]);
  #kept: readonly Tag[] | undefined = undefined;

  /**
   * @param tags or a function that finds them: most of a hundred thousand known series never need their tags.
   * @param names mostly the same array for series with the same names.
   */
  constructor(table: string, tsid: bigint, tags: readonly Tag[] | (() => readonly Tag[]), names?: readonly string[]) {
    this.table = table;
    this.names = names;
    this.tsidLow = Number(BigInt.asIntN(32, tsid));
    this.tsidHigh = Number(BigInt.asIntN(32, tsid >> 32n));
    this.#tags = tags;
  }

  get tsid(): bigint {
    return (BigInt(this.tsidHigh >>> 0) << 32n) | BigInt(this.tsidLow >>> 0);
  }

  get tags(): readonly Tag[] {
    if (typeof this.#tags !== 'function') return this.#tags;
    return this.#kept ?? this.#tags();
  }

  /** Returns the tags, and keeps them until `dropTags`: a new series needs them more than once. */
  keepTags(): readonly Tag[] {
    if (typeof this.#tags !== 'function') return this.#tags;
    return (this.#kept ??= this.#tags());
  }

  dropTags(): void {
    this.#kept = undefined;
  }
}

const NO_TYPES: ReadonlyMap<string, string> = new Map();

/** Rows of one table while a request is decoded. */
export class TableBuilder {
  readonly table: string;
  rowCount = 0;
  readonly series: SeriesEntry[] = [];
  /** In order of first appearance; includes columns whose rows were all undone. */
  readonly fields: FieldBuilder[] = [];
  /** `knownBy` and `columnsIn` of all its series when they were listed, if they are equal; otherwise undefined and 0. */
  knownBy: object | undefined = undefined;
  columnsIn = 0;
  /** Native types of the tags that are not strings; their values are canonical texts. */
  tagTypes: ReadonlyMap<string, string> = NO_TYPES;
  readonly #pool: BuilderPool;
  readonly #byName = new Map<string, FieldBuilder>();
  #rows: RowStorage;
  /** Whether the current row added its series to the list. */
  #listedNow = false;
  /** Series whose tags are kept until `release`. */
  readonly #withTags: SeriesEntry[] = [];

  constructor(table: string, pool: BuilderPool = new BuilderPool(0)) {
    this.table = table;
    this.#pool = pool;
    this.#rows = pool.takeRows();
  }

  /** Returns the names of the tags of one of the series; if these have to be found for that, they are kept until `release`. */
  tagNamesOf(series: SeriesEntry): readonly string[] {
    if (series.names !== undefined) return series.names;
    this.#withTags.push(series);
    return series.keepTags().map(({ name }) => name);
  }

  tagType(name: string): string {
    return this.tagTypes.get(name) ?? 'String';
  }

  /**
   * Appends rows whose fields are set already.
   *
   * @param entries row i is of the series `entries[numbers[i]]`.
   * @param times in the unit of the other rows.
   */
  appendRows(entries: readonly SeriesEntry[], numbers: Uint32Array, times: BigInt64Array): void {
    const first = this.rowCount;
    const end = first + numbers.length;
    while (end > this.#rows.capacity) this.#rows = this.#rows.grown();
    const { series } = this;
    const { seriesIndex } = this.#rows;
    for (let row = first; row < end; row++) {
      const entry = entries[numbers[row - first]];
      if (series[entry.listedAt] !== entry) this.#list(entry);
      seriesIndex[row] = entry.listedAt;
    }
    this.#rows.times.set(times, first);
    this.#listedNow = false;
    this.rowCount = end;
  }

  /** Begins row `rowCount`. The row counts only after `endRow`. */
  startRow(series: SeriesEntry): void {
    const row = this.rowCount;
    if (row === this.#rows.capacity) this.#rows = this.#rows.grown();
    this.#listedNow = this.series[series.listedAt] !== series;
    if (this.#listedNow) this.#list(series);
    this.#rows.seriesIndex[row] = series.listedAt;
  }

  /** Records everything needed of a series while it is in the CPU cache: later it would take a walk over all of them. */
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

  /** Returns the column of that name, created with `type` if the batch has none yet; its type may differ. */
  field(name: string, type: string): FieldBuilder {
    let field = this.#byName.get(name);
    if (field === undefined) {
      field = this.#pool.takeField(name, type);
      this.#byName.set(name, field);
      this.fields.push(field);
    } else if (field.setCount === 0 && field.type.name !== type) {
      // Until now only undone rows have used the name: the first row that stays determines the type.
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

  /** Discards the row that was started and not ended. */
  undoRow(): void {
    for (const field of this.fields) field.undo(this.rowCount);
    if (this.#listedNow) this.series.pop();
    this.#listedNow = false;
  }

  /**
   * Returns the rows as a batch, mostly of views: to be used before more rows are added, and before `release`.
   *
   * @param columnIdOf returns the table's column ID of a field name.
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

  /** Returns all arrays to the pool; the builder is empty afterwards. */
  release(): void {
    this.#pool.giveRows(this.#rows);
    for (const field of this.fields) this.#pool.giveField(field);
    this.#rows = new RowStorage(0);
    for (const series of this.#withTags) series.dropTags();
    this.#withTags.length = 0;
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

  /** @param pool source of arrays, to which `release` returns them. */
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

  /** Releases all builders; references to them must not be used any more. */
  release(): void {
    for (const table of this.tables.values()) table.release();
    this.tables.clear();
  }
}
