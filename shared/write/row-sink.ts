import type { Call } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import { isBytes } from '#shared/rowbatch/column';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { seriesId, type Tag } from '#shared/rowbatch/series-key';
import { DELETED, OP } from '#shared/schema/segment-columns';
import { tagsOf } from '#shared/schema/table-schema';
import type { Metrics } from '#shared/telemetry/metrics';
import { canonicalText, cellColumn, checkCell, nullRefused, type CellColumn, type CellValue } from './cell-value.js';
import { isOutrun } from './outrun.js';
import type { RegionSender } from './send.js';
import { indexOf, type TableIndex } from './table-index.js';
import { splitRows, type RegionRows } from './write-plan.js';
import { WrittenRows } from './written-rows.js';

/** A batch is sent when it has this many rows or bytes. */
const PACK_ROWS = 50_000;
const PACK_BYTES = 8 * 1024 * 1024;

/** Blocks of rows, of any size. */
export type RowBlocks = Iterable<readonly CellValue[][]> | AsyncIterable<readonly CellValue[][]>;

/** The outcome of a deletion. */
export interface Deleted {
  readonly rowCount: number;
  /** Whether some rows were not deleted because newer ones were written in the meantime. */
  readonly isOutrun: boolean;
}

/** Writes and deletes rows of typed cells durably, for INSERT and DELETE. */
export class RowSink {
  readonly #sender: RegionSender;
  readonly #rows: WrittenRows;
  /** Distributes the batches of tables in append mode over their regions. */
  #batchCounter = 0;

  constructor(sender: RegionSender, metrics: Metrics) {
    this.#sender = sender;
    this.#rows = new WrittenRows(metrics);
  }

  /**
   * Writes rows into an existing table; columns that are not named are null.
   *
   * All rows of an iterable are checked before the first is written. Rows of an async iterable are written as they come,
   * so an error leaves the rows before it.
   *
   * @param columns columns of the cells of each row, in order.
   * @returns the number of rows.
   * @throws `column_not_found`; `invalid_arguments` for a cell that its column does not accept; the errors of `RowWriter`.
   */
  async insert(table: Table, columns: readonly Column[], blocks: RowBlocks, call: Call): Promise<number> {
    const packer = new Packer(new Layout(indexOf(table), columns, false));
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

  /**
   * Deletes rows, as they come.
   *
   * @param columns columns of the cells of each row: the tags that the rows have, and the time index.
   * @param asOf by region: the last row that was read to decide what is deleted. A row that was written again since then
   *   is not deleted, nor are some others.
   * @returns the number of deleted rows, and whether some were not deleted because of newer ones and must be read again.
   * @throws as `insert`.
   */
  async delete(
    table: Table,
    columns: readonly Column[],
    blocks: AsyncIterable<readonly CellValue[][]>,
    asOf: ReadonlyMap<number, bigint>,
    call: Call,
  ): Promise<Deleted> {
    const packer = new Packer(new Layout(indexOf(table), columns, true));
    const outrun = new Set<number>();
    let rowCount = 0;
    const deletePacks = async (packs: readonly Pack[]): Promise<void> => {
      for (const pack of packs) rowCount += await this.#sendDeletions(pack, asOf, outrun, call);
    };
    for await (const rows of blocks) {
      packer.add(rows);
      await deletePacks(packer.takeFull());
    }
    await deletePacks(packer.takeAll());
    this.#rows.addDeleted(table.database, rowCount);
    return { rowCount, isOutrun: outrun.size > 0 };
  }

  async #send(pack: Pack, call: Call): Promise<void> {
    const parts = this.#partsOf(pack);
    const outcomes = await this.#sender.send(parts, call, { refusesPartly: true });
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw AlmanacError.from(outcome.reason);
    this.#rows.add(pack.layout.index.table.database, pack.builder.rowCount);
  }

  /** @param outrun regions with newer rows, to which nothing more is sent. @returns the number of deleted rows. */
  async #sendDeletions(
    pack: Pack,
    asOf: ReadonlyMap<number, bigint>,
    outrun: Set<number>,
    call: Call,
  ): Promise<number> {
    const parts = this.#partsOf(pack).filter(({ region: { regionId } }) => !outrun.has(regionId));
    const outcomes = await this.#sender.send(parts, call, { asOf });
    let rowCount = 0;
    for (const [i, outcome] of outcomes.entries()) {
      const { region, batch } = parts[i];
      if (outcome.status === 'fulfilled') {
        rowCount += batch.rowCount;
        continue;
      }
      const failure = AlmanacError.from(outcome.reason);
      if (!isOutrun(failure)) throw failure;
      outrun.add(region.regionId);
    }
    return rowCount;
  }

  #partsOf({ builder, layout }: Pack): RegionRows[] {
    const { index } = layout;
    const batch = builder.finish((name) => (name === OP.name ? OP.id : (index.byName.get(name)?.id ?? 0)));
    return splitRows({ index, batch, series: builder.series, knownBy: builder.knownBy }, this.#batchCounter++);
  }
}

interface PositionedColumn extends CellColumn {
  /** Position in a row; -1 if the statement does not name the column. */
  readonly position: number;
}

/** Positions of the columns of a table in the rows of a statement. */
class Layout {
  readonly index: TableIndex;
  readonly columns: readonly PositionedColumn[];
  readonly tags: readonly PositionedColumn[];
  readonly fields: readonly PositionedColumn[];
  readonly time: PositionedColumn;
  readonly isDeletion: boolean;

  constructor(index: TableIndex, columns: readonly Column[], isDeletion: boolean) {
    this.index = index;
    this.isDeletion = isDeletion;
    const names = columns.map((column) => column.name);
    for (const name of names) {
      if (!index.byName.has(name)) throw new AlmanacError('column_not_found', `Column not found: ${name}`);
    }
    const positioned = (column: Column): PositionedColumn => ({
      ...cellColumn(column),
      position: names.indexOf(column.name),
    });
    const all = index.table.columns.map(positioned);
    const isNeeded = ({ nullable, kind }: Column): boolean => kind === 'time' || (!nullable && !isDeletion);
    const missing = all.find(({ position, column }) => position < 0 && isNeeded(column));
    if (missing !== undefined) throw nullRefused(missing.column.name);
    this.columns = all.filter(({ position }) => position >= 0);
    this.tags = tagsOf(index.table)
      .map(positioned)
      .filter(({ position }) => position >= 0);
    this.fields = this.columns.filter(({ column }) => column.kind === 'field');
    this.time = positioned(index.timeIndex);
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
      this.#open.close();
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
  /** Texts of the tags that are strings, by tag and value. */
  readonly #texts: readonly Map<string, TagText>[];
  #bytes = 0;

  constructor(layout: Layout) {
    this.layout = layout;
    this.#texts = layout.tags.map(() => new Map<string, TagText>());
    this.builder = new TableBuilder(layout.index.table.name);
  }

  get isFull(): boolean {
    return this.builder.rowCount >= PACK_ROWS || this.#bytes >= PACK_BYTES;
  }

  add(row: readonly CellValue[]): void {
    const { columns, fields, time } = this.layout;
    for (const column of columns) checkCell(column, row[column.position]);
    const cell = row[time.position];
    if (typeof cell !== 'bigint' && typeof cell !== 'number') throw nullRefused(time.column.name);
    this.builder.startRow(this.#seriesOf(row));
    for (const place of fields) {
      const value = row[place.position];
      if (value !== null) this.#setField(this.builder.field(place.column.name, place.column.type), value);
    }
    if (this.layout.isDeletion) this.builder.field(OP.name, OP.type).setNumber(this.builder.rowCount, DELETED);
    this.builder.endRowAt(BigInt(cell));
    this.#bytes += 12;
  }

  /** Frees what only further rows need. */
  close(): void {
    this.#series.clear();
    for (const texts of this.#texts) texts.clear();
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
    const { tags } = this.layout;
    let key = '';
    for (let i = 0; i < tags.length; i++) {
      const value = row[tags[i].position];
      key += value === null ? '-;' : this.#tagText(i, value).key;
    }
    let series = this.#series.get(key);
    if (series === undefined) {
      const present: Tag[] = tags.flatMap(({ position, column }, i) => {
        const value = row[position];
        return value === null ? [] : [{ name: column.name, value: this.#tagText(i, value).text }];
      });
      series = new SeriesEntry(this.layout.index.table.name, seriesId(present, this.layout.typeOf), present);
      this.#series.set(key, series);
      this.#bytes += key.length;
    }
    return series;
  }

  #tagText(tag: number, value: Exclude<CellValue, null>): TagText {
    if (typeof value !== 'string') return tagText(this.layout.tags[tag], value);
    let known = this.#texts[tag].get(value);
    if (known === undefined) {
      known = tagText(this.layout.tags[tag], value);
      this.#texts[tag].set(value, known);
    }
    return known;
  }
}

/** The text of a tag, and what identifies it in the key of a series. */
interface TagText {
  readonly text: Uint8Array;
  readonly key: string;
}

function tagText(place: PositionedColumn, value: Exclude<CellValue, null>): TagText {
  const text = canonicalText(place, value);
  return { text, key: `${text.length}:${Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1')};` };
}
