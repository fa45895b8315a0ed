import type { Table } from '#shared/contracts/gen/common';
import type { ChunkColumn } from '#shared/duckdb/chunk-writer';
import { hasValue, isBytes, type BytesColumn, type Column, type FixedValues } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { dataType } from '#shared/schema/data-type';
import { fieldsOf, timeIndexOf } from '#shared/schema/table-schema';

import type { Generation } from '../memtable/generation.js';

const NULLS: ChunkColumn = { kind: 'null' };

/** Rows of a batch and where they go. */
export interface Chosen {
  rows: Uint32Array;
  places: Uint32Array;
  /** How many entries of both count. */
  count: number;
}

/** Rows that are taken together from many batches: `(metric, sid, time, fields ..)`, the columns of `generationColumns`. */
export class ColumnArrays {
  readonly #sids: Uint32Array<ArrayBuffer>;
  /** Of a metric table. */
  readonly #metrics: Uint32Array<ArrayBuffer> | undefined;
  /** Columns that a row has, about: what moving it costs. */
  readonly width: number;
  readonly #unit: string;
  readonly #times: BigInt64Array<ArrayBuffer>;
  readonly #fields: readonly FieldArrays[];

  /** @param length rows at most. */
  constructor(table: Table, generation: Generation, length: number, hasMetrics: boolean) {
    this.#unit = dataType(timeIndexOf(table).type).timeUnit ?? 'ns';
    this.#sids = new Uint32Array(length);
    this.#metrics = hasMetrics ? new Uint32Array(length) : undefined;
    this.#times = new BigInt64Array(length);
    this.#fields = fieldsOf(table).map(({ id, type }) => fieldArrays(id, type, generation, length));
    this.width = 2 + this.#fields.length;
  }

  /** Says whose rows are at places `[from, to)`. */
  setSeries(sid: number, metric: number | undefined, from: number, to: number): void {
    this.#sids.fill(sid, from, to);
    if (metric !== undefined) this.#metrics?.fill(metric, from, to);
  }

  /** Copies rows of a batch to their places. */
  put(batch: RowBatch, chosen: Chosen): void {
    moveWords(batch.times, this.#times, chosen);
    for (const field of this.#fields) field.put(batch, chosen);
  }

  /** All rows as columns of a chunk writer. They are views: to be used before the next `put`. */
  columns(): ChunkColumn[] {
    return [
      ...(this.#metrics === undefined ? [] : [{ kind: 'u32', values: this.#metrics } as const]),
      { kind: 'u32', values: this.#sids },
      { kind: 'time', unit: this.#unit, values: this.#times },
      ...this.#fields.map((field) => field.column()),
    ];
  }
}

interface FieldArrays {
  put(batch: RowBatch, chosen: Chosen): void;
  column(): ChunkColumn;
}

const NO_FIELD: FieldArrays = { put: () => undefined, column: () => NULLS };

function fieldArrays(columnId: number, type: string, generation: Generation, length: number): FieldArrays {
  const sources: Column[] = [];
  let isSparse = false;
  for (const { batch } of generation.batches) {
    const column = batch.columns.find((it) => it.columnId === columnId);
    if (column !== undefined) sources.push(column);
    isSparse ||= column?.validity !== undefined || column === undefined;
  }
  if (sources.length === 0) return NO_FIELD;
  const validity = isSparse ? new Uint8Array((length + 7) >> 3) : undefined;
  if (isBytes(dataType(type).storage)) return new BytesArrays({ columnId, type, validity }, length);
  return new FixedArrays({ columnId, type, validity }, arrayFor(type, sources, length));
}

interface FieldOptions {
  readonly columnId: number;
  readonly type: string;
  /** Undefined: all rows have a value. */
  readonly validity: Uint8Array<ArrayBuffer> | undefined;
}

/** An array that holds the values of all sources; dates and timestamps have the width that the engine wants. */
function arrayFor(type: string, sources: readonly Column[], length: number): FixedValues {
  const { timeUnit, name } = dataType(type);
  if (timeUnit !== undefined) return new BigInt64Array(length);
  if (name === 'Date') return new Int32Array(length);
  let widest: FixedValues | undefined;
  for (const source of sources) {
    if (source.kind !== 'fixed') continue;
    if (source.values.BYTES_PER_ELEMENT > (widest?.BYTES_PER_ELEMENT ?? 0)) widest = source.values;
  }
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

  put(batch: RowBatch, chosen: Chosen): void {
    const { columnId, validity } = this.#options;
    const column = batch.columns.find((it) => it.columnId === columnId);
    if (column?.kind !== 'fixed') return;
    moveWords(column.values, this.#values, chosen);
    if (validity !== undefined) this.#nullCount += markValues(column, validity, chosen);
  }

  column(): ChunkColumn {
    const { columnId, type, validity } = this.#options;
    const nullCount = this.#nullCount;
    return { kind: 'column', column: { kind: 'fixed', columnId, type, nullCount, validity, values: this.#values } };
  }
}

/** Texts stay where they are until a chunk is written. */
class BytesArrays implements FieldArrays {
  readonly #options: FieldOptions;
  readonly #sources: (BytesColumn | undefined)[];
  readonly #rows: Uint32Array;

  constructor(options: FieldOptions, length: number) {
    this.#options = options;
    this.#sources = new Array<BytesColumn | undefined>(length).fill(undefined);
    this.#rows = new Uint32Array(length);
  }

  put(batch: RowBatch, { rows, places, count }: Chosen): void {
    const column = batch.columns.find((it) => it.columnId === this.#options.columnId);
    if (column?.kind !== 'bytes') return;
    for (let i = 0; i < count; i++) {
      if (!hasValue(column, rows[i])) continue;
      this.#sources[places[i]] = column;
      this.#rows[places[i]] = rows[i];
    }
  }

  column(): ChunkColumn {
    const rows = this.#rows;
    return {
      kind: 'texts',
      isBinary: dataType(this.#options.type).storage === 'binary',
      textOf: (place) => {
        const source = this.#sources[place];
        return source?.bytes.subarray(source.offsets[rows[place]], source.offsets[rows[place] + 1]);
      },
    };
  }
}

/** Sets the bits of rows that have a value; returns how many have none. */
function markValues(column: Column, validity: Uint8Array, { rows, places, count }: Chosen): number {
  let nullCount = 0;
  for (let i = 0; i < count; i++) {
    if (hasValue(column, rows[i])) validity[places[i] >> 3] |= 1 << (places[i] & 7);
    else nullCount++;
  }
  return nullCount;
}

/** `target[places[i]] = source[rows[i]]`, as words: no BigInt is made, NaN keeps its bits. */
function moveWords(source: FixedValues, target: FixedValues, chosen: Chosen): void {
  const width = target.BYTES_PER_ELEMENT;
  if (source.BYTES_PER_ELEMENT === width) moveSame(source, target, chosen);
  else if (width === 8) widen(source as Int32Array<ArrayBuffer>, pairs(target), chosen);
  else moveEach(source as Int16Array<ArrayBuffer>, target as Int32Array<ArrayBuffer>, chosen);
}

function moveSame(source: FixedValues, target: FixedValues, chosen: Chosen): void {
  const { buffer, byteOffset, length } = source;
  switch (target.BYTES_PER_ELEMENT) {
    case 1:
      return moveEach(new Int8Array(buffer, byteOffset, length), new Int8Array(target.buffer), chosen);
    case 2:
      return moveEach(new Int16Array(buffer, byteOffset, length), new Int16Array(target.buffer), chosen);
    case 4:
      return moveEach(new Int32Array(buffer, byteOffset, length), new Int32Array(target.buffer), chosen);
    default:
      return movePairs(pairs(source), pairs(target), chosen);
  }
}

function pairs({ buffer, byteOffset, length }: FixedValues): Int32Array {
  return new Int32Array(buffer, byteOffset, length * 2);
}

type Words = Int8Array | Int16Array | Int32Array;

function moveEach(source: Words, target: Words, { rows, places, count }: Chosen): void {
  for (let i = 0; i < count; i++) target[places[i]] = source[rows[i]];
}

function movePairs(source: Int32Array, target: Int32Array, { rows, places, count }: Chosen): void {
  for (let i = 0; i < count; i++) {
    const from = 2 * rows[i];
    const to = 2 * places[i];
    target[to] = source[from];
    target[to + 1] = source[from + 1];
  }
}

/** Integers of up to 32 bits into the words of 64. */
function widen(source: Words, target: Int32Array, { rows, places, count }: Chosen): void {
  for (let i = 0; i < count; i++) {
    const value = source[rows[i]];
    target[2 * places[i]] = value;
    target[2 * places[i] + 1] = value >> 31;
  }
}
