import { freeBuffer } from '#shared/bytes/free-buffer';
import type { Slices } from '#shared/clock/slices';
import type { Table } from '#shared/contracts/gen/common';
import type { ChunkColumn } from '#shared/duckdb/chunk-writer';
import { hasValue, isBytes, type BytesColumn, type Column, type FixedValues } from '#shared/rowbatch/column';
import { dataType } from '#shared/schema/data-type';
import { fieldsOf, timeIndexOf } from '#shared/schema/table-schema';

import type { Generation } from '../memtable/generation.js';
import type { HeldBatch } from '../memtable/held-batch.js';

const NULLS: ChunkColumn = { kind: 'null' };

/** Rows of a batch, ascending, and the positions they are moved to. */
export interface RowPlacement {
  rows: Uint32Array;
  places: Uint32Array;
  /** Number of valid entries in both arrays. */
  count: number;
}

/** Values that a generation has of a field. */
interface FieldPlan {
  /** Rows of the batches that have the field. */
  rowCount: number;
  hasNulls: boolean;
  /** The widest array of values; undefined for texts. */
  widest: FixedValues | undefined;
}

/** Fields that a generation has values of, by column id. */
export type ColumnPlan = ReadonlyMap<number, FieldPlan>;

/** Derives the plan from all batches. */
export async function planColumns({ batches }: Generation, slices: Slices): Promise<ColumnPlan> {
  const plan = new Map<number, FieldPlan>();
  for (const { columns, rowCount } of batches) {
    for (const column of columns) note(plan, column, rowCount);
    if (slices.isOver(columns.length)) await slices.yield();
  }
  return plan;
}

function note(plan: Map<number, FieldPlan>, column: Column, rowCount: number): void {
  let field = plan.get(column.columnId);
  if (field === undefined) plan.set(column.columnId, (field = { rowCount: 0, hasNulls: false, widest: undefined }));
  field.rowCount += rowCount;
  field.hasNulls ||= column.validity !== undefined;
  if (column.kind !== 'fixed') return;
  const { values } = column;
  if (values.BYTES_PER_ELEMENT > (field.widest?.BYTES_PER_ELEMENT ?? 0)) field.widest = values;
}

/** Layout of the arrays. */
export interface ArraysOptions {
  readonly table: Table;
  readonly plan: ColumnPlan;
  /** Rows of the generation that the plan was made for. */
  readonly rowCount: number;
  readonly hasMetrics: boolean;
  /** Whether several rows may be moved to one position, where a row without a value leaves the existing one. */
  readonly isMerged: boolean;
}

/** Rows collected from many batches: `(sid, time, fields ..)`, the columns of `generationColumns`. */
export class ColumnArrays {
  /** Approximate columns of a row, as the cost of moving it. */
  readonly width: number;
  readonly #unit: string;
  readonly #series = new SeriesRuns();
  /** Whether segments have metric numbers. */
  readonly #hasMetrics: boolean;
  readonly #times: BigInt64Array<ArrayBuffer>;
  /** In the order of the table's fields; undefined: no row has a value. */
  readonly #fields: readonly (FieldArrays | undefined)[];
  readonly #byId: ReadonlyMap<number, FieldArrays>;

  /** @param length greatest number of rows. */
  constructor({ table, plan, rowCount, hasMetrics, isMerged }: ArraysOptions, length: number) {
    this.#unit = dataType(timeIndexOf(table).type).timeUnit ?? 'ns';
    this.#hasMetrics = hasMetrics;
    this.#times = new BigInt64Array(length);
    const byId = new Map<number, FieldArrays>();
    for (const { id, type } of fieldsOf(table)) {
      const field = plan.get(id);
      if (field === undefined) continue;
      const isSparse = field.hasNulls || field.rowCount < rowCount;
      const validity = isSparse ? new Uint8Array((length + 7) >> 3) : undefined;
      const options = { columnId: id, type, validity, isMerged };
      byId.set(id, arraysOf(options, field.widest, length));
    }
    this.#byId = byId;
    this.#fields = fieldsOf(table).map(({ id }) => byId.get(id));
    this.width = 2 + Math.ceil(byId.size / 4);
  }

  /** Sets the series of the rows up to position `to`; called in the order of positions. */
  setSeries(sid: number, metric: number | undefined, to: number): void {
    this.#series.add(sid, metric ?? 0, to);
  }

  /** Copies rows of a batch to their positions. */
  put({ rowTimes, columns }: HeldBatch, selection: RowPlacement): void {
    rowTimes.move(this.#times, selection);
    for (const column of columns) this.#byId.get(column.columnId)?.put(column, selection);
  }

  /** Frees the memory at once instead of when the garbage collector runs; nothing else may be called afterwards. */
  free(): void {
    freeArray(this.#times);
    for (const field of this.#byId.values()) field.free();
  }

  /** Returns all rows as columns of a chunk writer. They are views, valid until the next `put`. */
  columns(): ChunkColumn[] {
    const series = this.#series;
    const metrics = {
      kind: 'numbers',
      read: (from, target) => series.readMetrics(from, target),
    } as const satisfies ChunkColumn;
    return [
      ...(this.#hasMetrics ? [metrics] : []),
      { kind: 'numbers', read: (from, target) => series.readSids(from, target) },
      { kind: 'time', unit: this.#unit, values: this.#times },
      ...this.#fields.map((field) => field?.column() ?? NULLS),
    ];
  }
}

/** Series of all rows: those of one series follow each other, and most have many rows. */
class SeriesRuns {
  #count = 0;
  #ends = new Uint32Array(1024);
  #sids = new Uint32Array(1024);
  #metrics = new Uint32Array(1024);

  /** Adds the rows after those of the last run, up to position `to`. */
  add(sid: number, metric: number, to: number): void {
    const at = this.#count++;
    if (at === this.#ends.length) this.#grow();
    this.#ends[at] = to;
    this.#sids[at] = sid;
    this.#metrics[at] = metric;
  }

  #grow(): void {
    const [ends, sids, metrics] = [this.#ends, this.#sids, this.#metrics];
    [this.#ends, this.#sids, this.#metrics] = [ends, sids, metrics].map((array) => {
      const grown = new Uint32Array(2 * array.length);
      grown.set(array);
      return grown;
    });
  }

  /** Writes the series numbers of the rows from position `from` on to `target`. */
  readSids(from: number, target: Uint32Array): void {
    this.#read(this.#sids, from, target);
  }

  /** Writes the metric numbers of the rows from position `from` on to `target`. */
  readMetrics(from: number, target: Uint32Array): void {
    this.#read(this.#metrics, from, target);
  }

  #read(values: Uint32Array, from: number, target: Uint32Array): void {
    const ends = this.#ends;
    let run = this.#runAt(from);
    for (let at = 0; at < target.length && run < this.#count; run++) {
      const end = ends[run] - from;
      target.fill(values[run], at, end);
      at = end;
    }
  }

  /** Returns the first run that ends after the position. */
  #runAt(position: number): number {
    const ends = this.#ends;
    let [low, high] = [0, this.#count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

interface FieldArrays {
  put(column: Column, selection: RowPlacement): void;
  column(): ChunkColumn;
  free(): void;
}

function freeArray({ buffer }: FixedValues | Uint32Array<ArrayBuffer>): void {
  freeBuffer(Buffer.from(buffer));
}

function arraysOf(options: FieldOptions, widest: FixedValues | undefined, length: number): FieldArrays {
  if (isBytes(dataType(options.type).storage)) return new BytesArrays(options.type, length);
  return new FixedArrays(options, arrayFor(options.type, widest, length));
}

interface FieldOptions {
  readonly columnId: number;
  readonly type: string;
  /** Undefined: all rows have a value. */
  readonly validity: Uint8Array<ArrayBuffer> | undefined;
  readonly isMerged: boolean;
}

/**
 * Returns an array that can hold the values of all batches; dates and timestamps have the width that the engine
 * expects.
 */
function arrayFor(type: string, widest: FixedValues | undefined, length: number): FixedValues {
  const { timeUnit, name } = dataType(type);
  if (timeUnit !== undefined) return new BigInt64Array(length);
  if (name === 'Date') return new Int32Array(length);
  if (widest instanceof Float64Array) return new Float64Array(length);
  if (widest instanceof Float32Array) return new Float32Array(length);
  if (widest instanceof Uint8Array) return new Uint8Array(length);
  if (widest instanceof Int8Array) return new Int8Array(length);
  if (widest instanceof Int16Array) return new Int16Array(length);
  if (widest instanceof Int32Array) return new Int32Array(length);
  return new BigInt64Array(length);
}

class FixedArrays implements FieldArrays {
  readonly #options: FieldOptions;
  readonly #values: FixedValues;
  #nullCount = 0;

  constructor(options: FieldOptions, values: FixedValues) {
    this.#options = options;
    this.#values = values;
  }

  put(column: Column, selection: RowPlacement): void {
    const { validity, isMerged } = this.#options;
    if (column.kind !== 'fixed') return;
    const put = isMerged && column.validity !== undefined ? withValues(column, selection) : selection;
    moveWords(column.values, this.#values, put);
    if (validity !== undefined) this.#nullCount += markValues(column, validity, put);
  }

  column(): ChunkColumn {
    const { columnId, type, validity } = this.#options;
    const nullCount = this.#nullCount;
    return { kind: 'column', column: { kind: 'fixed', columnId, type, nullCount, validity, values: this.#values } };
  }

  free(): void {
    freeArray(this.#values);
  }
}

/** Texts stay in their batches until a chunk is written. */
class BytesArrays implements FieldArrays {
  readonly #type: string;
  /** The first means no value. */
  readonly #sources: (BytesColumn | undefined)[] = [undefined];
  /** By position: index in `#sources`, and row there. */
  readonly #sourceOf: Uint32Array<ArrayBuffer>;
  readonly #rows: Uint32Array<ArrayBuffer>;

  constructor(type: string, length: number) {
    this.#type = type;
    this.#sourceOf = new Uint32Array(length);
    this.#rows = new Uint32Array(length);
  }

  put(column: Column, { rows, places, count }: RowPlacement): void {
    if (column.kind !== 'bytes') return;
    if (this.#sources.at(-1) !== column) this.#sources.push(column);
    const source = this.#sources.length - 1;
    for (let i = 0; i < count; i++) {
      if (!hasValue(column, rows[i])) continue;
      this.#sourceOf[places[i]] = source;
      this.#rows[places[i]] = rows[i];
    }
  }

  column(): ChunkColumn {
    return {
      kind: 'texts',
      isBinary: dataType(this.#type).storage === 'binary',
      addTo: (block, from, to) => {
        for (let place = from; place < to; place++) {
          const source = this.#sources[this.#sourceOf[place]];
          const row = this.#rows[place];
          if (source === undefined) block.addNull();
          else block.add(source.bytes, source.offsets[row], source.offsets[row + 1]);
        }
      },
    };
  }

  free(): void {
    freeArray(this.#sourceOf);
    freeArray(this.#rows);
  }
}

/** Returns the selected rows that have a value. */
function withValues(column: Column, { rows, places, count }: RowPlacement): RowPlacement {
  const selection = { rows: new Uint32Array(count), places: new Uint32Array(count), count: 0 };
  for (let i = 0; i < count; i++) {
    if (!hasValue(column, rows[i])) continue;
    selection.rows[selection.count] = rows[i];
    selection.places[selection.count++] = places[i];
  }
  return selection;
}

/** Sets the validity bits of rows that have a value; returns how many have none. */
function markValues(column: Column, validity: Uint8Array, { rows, places, count }: RowPlacement): number {
  let nullCount = 0;
  for (let i = 0; i < count; i++) {
    if (hasValue(column, rows[i])) validity[places[i] >> 3] |= 1 << (places[i] & 7);
    else nullCount++;
  }
  return nullCount;
}

/** `target[places[i]] = source[rows[i]]`, as words: creates no BigInt, and NaN keeps its bits. */
function moveWords(source: FixedValues, target: FixedValues, selection: RowPlacement): void {
  const width = target.BYTES_PER_ELEMENT;
  if (source.BYTES_PER_ELEMENT === width) moveSame(source, target, selection);
  else if (width === 8) widen(source as Int32Array<ArrayBuffer>, pairs(target), selection);
  else moveEach(source as Int16Array<ArrayBuffer>, target as Int32Array<ArrayBuffer>, selection);
}

function moveSame(source: FixedValues, target: FixedValues, selection: RowPlacement): void {
  const { buffer, byteOffset, length } = source;
  switch (target.BYTES_PER_ELEMENT) {
    case 1:
      return moveEach(new Int8Array(buffer, byteOffset, length), new Int8Array(target.buffer), selection);
    case 2:
      return moveEach(new Int16Array(buffer, byteOffset, length), new Int16Array(target.buffer), selection);
    case 4:
      return moveEach(new Int32Array(buffer, byteOffset, length), new Int32Array(target.buffer), selection);
    default:
      return movePairs(pairs(source), pairs(target), selection);
  }
}

function pairs({ buffer, byteOffset, length }: FixedValues): Int32Array {
  return new Int32Array(buffer, byteOffset, length * 2);
}

type Words = Int8Array | Int16Array | Int32Array;

function moveEach(source: Words, target: Words, { rows, places, count }: RowPlacement): void {
  for (let i = 0; i < count; i++) target[places[i]] = source[rows[i]];
}

function movePairs(source: Int32Array, target: Int32Array, { rows, places, count }: RowPlacement): void {
  for (let i = 0; i < count; i++) {
    const from = 2 * rows[i];
    const to = 2 * places[i];
    target[to] = source[from];
    target[to + 1] = source[from + 1];
  }
}

/** Moves integers of up to 32 bits into words of 64. */
function widen(source: Words, target: Int32Array, { rows, places, count }: RowPlacement): void {
  for (let i = 0; i < count; i++) {
    const value = source[rows[i]];
    target[2 * places[i]] = value;
    target[2 * places[i] + 1] = value >> 31;
  }
}

/**
 * Returns the bytes of the widest values of each integer field of a generation, by column id. Excludes dates and
 * timestamps, whose types determine their width.
 */
export function integerWidths(generation: Generation): Map<number, number> {
  const widths = new Map<number, number>();
  for (const { columns } of generation.batches) {
    for (const column of columns) {
      if (column.kind !== 'fixed' || !isPlainInteger(column.type)) continue;
      widths.set(column.columnId, Math.max(widths.get(column.columnId) ?? 0, column.values.BYTES_PER_ELEMENT));
    }
  }
  return widths;
}

function isPlainInteger(type: string): boolean {
  const { storage, timeUnit, name } = dataType(type);
  return storage === 'int' && timeUnit === undefined && name !== 'Date';
}
