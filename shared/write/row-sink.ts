import type { Call } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import { isBytes } from '#shared/rowbatch/column';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { seriesId, type Tag } from '#shared/rowbatch/series-key';
import { tagsOf } from '#shared/schema/table-schema';
import type { Metrics } from '#shared/telemetry/metrics';
import { canonicalText, cellColumn, checkCell, nullRefused, type CellColumn, type CellValue } from './cell-value.js';
import type { RegionSender } from './send.js';
import { splitRows } from './split.js';
import { indexOf, type TableIndex } from './table-index.js';
import { outsideRange, TIME_LIMITS } from './times.js';
import { WrittenRows } from './written-rows.js';

/** A batch is sent when it has as many rows or bytes. */
const PACK_ROWS = 50_000;
const PACK_BYTES = 8 * 1024 * 1024;

/** Blocks of rows, of any size. */
export type RowBlocks = Iterable<readonly CellValue[][]> | AsyncIterable<readonly CellValue[][]>;

/** Rows with typed cells in, durable rows out: what INSERT stands on. */
export class RowSink {
  readonly #sender: RegionSender;
  readonly #rows: WrittenRows;
  #turn = 0;

  constructor(sender: RegionSender, metrics: Metrics) {
    this.#sender = sender;
    this.#rows = new WrittenRows(metrics);
  }

  /**
   * Writes rows into an existing table; columns that are not named are null.
   *
   * Rows that are all there (an iterable) are checked to the last before the first is written. Rows that come in time
   * are written as they come, so an error leaves those before it.
   *
   * @param columns columns of the cells of each row, in order.
   * @returns how many rows were given.
   * @throws `column_not_found`; `invalid_arguments` for a cell that its column does not take; those of `RowWriter`.
   */
  async insert(table: Table, columns: readonly Column[], blocks: RowBlocks, call: Call): Promise<number> {
    const layout = new Layout(indexOf(table), columns);
    const packer = new Packer(layout);
    if (Symbol.asyncIterator in blocks) {
      for await (const rows of blocks) {
        packer.add(rows);
        for (const pack of packer.takeFull()) await this.#send(pack, call);
      }
    } else {
      for (const rows of blocks) packer.add(rows);
    }
    for (const pack of packer.takeAll()) await this.#send(pack, call);
    return packer.rowCount;
  }

  async #send({ builder, layout }: Pack, call: Call): Promise<void> {
    const { index } = layout;
    const batch = builder.finish((name) => index.byName.get(name)?.id ?? 0);
    const parts = splitRows(index, batch, builder.series, this.#turn++);
    const outcomes = await this.#sender.send(parts, call);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw AlmanacError.from(outcome.reason);
    this.#rows.add(index.table.database, batch.rowCount);
  }
}

interface CellPlace extends CellColumn {
  /** Position in a row; -1 if the statement does not name the column. */
  readonly position: number;
}

/** Where the columns of a table are in the rows of a statement. */
class Layout {
  readonly index: TableIndex;
  readonly places: readonly CellPlace[];
  readonly tags: readonly CellPlace[];
  readonly fields: readonly CellPlace[];
  readonly time: CellPlace;

  constructor(index: TableIndex, columns: readonly Column[]) {
    this.index = index;
    const names = columns.map((column) => column.name);
    for (const name of names) {
      if (!index.byName.has(name)) throw new AlmanacError('column_not_found', `Column not found: ${name}`);
    }
    const place = (column: Column): CellPlace => ({ ...cellColumn(column), position: names.indexOf(column.name) });
    const all = index.table.columns.map(place);
    const missing = all.find(({ position, column }) => position < 0 && (!column.nullable || column.kind === 'time'));
    if (missing !== undefined) throw nullRefused(missing.column.name);
    this.places = all.filter(({ position }) => position >= 0);
    this.tags = tagsOf(index.table)
      .map(place)
      .filter(({ position }) => position >= 0);
    this.fields = this.places.filter(({ column }) => column.kind === 'field');
    this.time = place(index.timeIndex);
  }

  typeOf = (name: string): string => this.index.byName.get(name)?.type ?? 'String';
}

/** Packs rows into batches of a size that is worth a log record. */
class Packer {
  rowCount = 0;
  readonly #layout: Layout;
  #full: Pack[] = [];
  #open: Pack;

  constructor(layout: Layout) {
    this.#layout = layout;
    this.#open = new Pack(layout);
  }

  add(rows: readonly CellValue[][]): void {
    for (const row of rows) {
      this.#open.add(row);
      this.rowCount++;
      if (!this.#open.isFull) continue;
      this.#full.push(this.#open);
      this.#open = new Pack(this.#layout);
    }
  }

  takeFull(): Pack[] {
    const full = this.#full;
    this.#full = [];
    return full;
  }

  takeAll(): Pack[] {
    const all = [...this.takeFull(), this.#open];
    this.#open = new Pack(this.#layout);
    return all;
  }
}

/** Rows that are sent together. */
class Pack {
  readonly layout: Layout;
  readonly builder: TableBuilder;
  readonly #series = new Map<string, SeriesEntry>();
  readonly #limit: bigint;
  #bytes = 0;

  constructor(layout: Layout) {
    this.layout = layout;
    this.builder = new TableBuilder(layout.index.table.name);
    this.#limit = TIME_LIMITS[layout.index.timeUnit];
  }

  get isFull(): boolean {
    return this.builder.rowCount >= PACK_ROWS || this.#bytes >= PACK_BYTES;
  }

  add(row: readonly CellValue[]): void {
    const { places, fields, time, index } = this.layout;
    for (const place of places) checkCell(place, row[place.position]);
    const cell = row[time.position];
    if (typeof cell !== 'bigint' && typeof cell !== 'number') throw nullRefused(time.column.name);
    const timeValue = BigInt(cell);
    if (timeValue < -this.#limit || timeValue > this.#limit) {
      throw new AlmanacError('invalid_arguments', outsideRange(index.timeUnit));
    }
    this.builder.startRow(this.#seriesOf(row));
    for (const place of fields) {
      const value = row[place.position];
      if (value !== null) this.#setField(this.builder.field(place.column.name, place.column.type), value);
    }
    this.builder.endRowAt(timeValue);
    this.#bytes += 12;
  }

  #setField(field: FieldBuilder, value: Exclude<CellValue, null>): void {
    const row = this.builder.rowCount;
    if (isBytes(field.type.storage)) {
      const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value));
      field.setBytes(row, bytes, 0, bytes.length);
      this.#bytes += bytes.length + 4;
      return;
    }
    if (typeof value === 'bigint') field.setBigInt(row, value);
    else field.setNumber(row, Number(value));
    this.#bytes += 8;
  }

  #seriesOf(row: readonly CellValue[]): SeriesEntry {
    const tags: Tag[] = [];
    let key = '';
    for (const place of this.layout.tags) {
      const value = row[place.position];
      if (value === null) {
        key += '-;';
        continue;
      }
      const text = canonicalText(place, value);
      tags.push({ name: place.column.name, value: text });
      key += `${text.length}:${Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1')};`;
    }
    let series = this.#series.get(key);
    if (series === undefined) {
      series = new SeriesEntry(this.layout.index.table.name, seriesId(tags, this.layout.typeOf), tags);
      this.#series.set(key, series);
    }
    return series;
  }
}
