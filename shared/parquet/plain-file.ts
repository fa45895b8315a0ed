/**
 * Writes arrays to a Parquet file as they are in memory: not encoded, not compressed, and without a copy if all rows have a
 * value. Meant to be read once, by the engine.
 *
 * @see https://parquet.apache.org/docs/file-format/
 */
import type { Slices } from '#shared/clock/slices';
import { invariant } from '#shared/errors/invariant';
import type { FileSystem, OpenFile } from '#shared/fs/file-system';

import { CompactWriter, TYPE } from './compact-protocol.js';

const MAGIC: Uint8Array = Buffer.from('PAR1');
/** Numbers of Parquet: of a physical type, an encoding, a kind of page, a repetition and a codec. */
const INT32 = 1;
const INT64 = 2;
const FLOAT = 4;
const DOUBLE = 5;
const PLAIN = 0;
const RUNS = 3;
const DATA_PAGE = 0;
const OPTIONAL = 1;
const UNCOMPRESSED = 0;

/** What the elements of an array mean. */
export type PlainType = keyof typeof TYPES;

interface TypeNumbers {
  readonly physical: number;
  readonly width: 4 | 8;
  /** The logical type, unless the physical one says all; nanoseconds have a newer form of it. */
  readonly converted?: number;
  readonly isNanos?: boolean;
}

const TYPES = {
  i32: { physical: INT32, width: 4 },
  u32: { physical: INT32, width: 4, converted: 13 },
  i64: { physical: INT64, width: 8 },
  u64: { physical: INT64, width: 8, converted: 14 },
  f32: { physical: FLOAT, width: 4 },
  f64: { physical: DOUBLE, width: 8 },
  day: { physical: INT32, width: 4, converted: 6 },
  ms: { physical: INT64, width: 8, converted: 9 },
  us: { physical: INT64, width: 8, converted: 10 },
  ns: { physical: INT64, width: 8, isNanos: true },
} as const satisfies Readonly<Record<string, TypeNumbers>>;

/** A column of a plain file. */
export interface PlainColumn {
  readonly name: string;
  readonly type: PlainType;
}

/** The values of a column in a row group. */
export interface PlainValues {
  /** One element for each row, of the width of the column's type. */
  readonly values: ArrayBufferView<ArrayBuffer>;
  /** A bit for each row, the lowest first; undefined: all rows have a value. */
  readonly validity: Uint8Array<ArrayBuffer> | undefined;
}

/** A page of a row group in the file. */
interface Chunk {
  readonly offset: number;
  readonly bytes: number;
}

/** What a plain file is written with. */
export interface PlainFileOptions {
  readonly fs: FileSystem;
  /** There must be no such file. */
  readonly path: string;
  readonly columns: readonly PlainColumn[];
  readonly slices: Slices;
}

/** Bytes that are written together. */
const WRITE_BYTES = 4 * 1024 * 1024;

/** A Parquet file that is being written. It is removed by `discard`, also after an error. */
export class PlainFile {
  readonly #options: PlainFileOptions;
  /** Undefined: closed. */
  #file: OpenFile | undefined = undefined;
  /** Row groups of the footer. */
  readonly #groups = new CompactWriter();
  #groupCount = 0;
  #rowCount = 0;
  #length = 0;

  constructor(options: PlainFileOptions) {
    this.#options = options;
  }

  /**
   * Writes a row group.
   * @param valuesOf returns the values of a column, by its index; they must not change until this resolves.
   */
  async append(rowCount: number, valuesOf: (column: number) => PlainValues): Promise<void> {
    const { columns, slices } = this.#options;
    const chunks: Chunk[] = [];
    let parts = this.#head();
    let offset = this.#length + sizeOf(parts);
    let written = this.#length;
    for (const [i, { type }] of columns.entries()) {
      const page = pageOf(rowCount, valuesOf(i), TYPES[type].width);
      const bytes = sizeOf(page);
      chunks.push({ offset, bytes });
      offset += bytes;
      parts.push(...page);
      if (slices.isOver(rowCount)) await slices.yield();
      if (offset - written < WRITE_BYTES && i < columns.length - 1) continue;
      await this.#write(parts);
      written = offset;
      parts = [];
    }
    this.#length = offset;
    this.#rowCount += rowCount;
    this.#groupCount++;
    this.#addGroup(rowCount, chunks);
  }

  /** Completes and closes the file. */
  async finish(): Promise<void> {
    const footer = this.#footer();
    const end = new DataView(new ArrayBuffer(4));
    end.setUint32(0, footer.length, true);
    await this.#write([...this.#head(), footer, new Uint8Array(end.buffer), MAGIC]);
    await this.#close();
  }

  /** Closes and removes the file, if it exists. */
  async discard(): Promise<void> {
    await this.#close();
    await this.#options.fs.remove(this.#options.path);
  }

  #head(): Uint8Array[] {
    return this.#length === 0 ? [MAGIC] : [];
  }

  async #write(parts: readonly Uint8Array[]): Promise<void> {
    this.#file ??= await this.#options.fs.open(this.#options.path, 'append');
    await this.#file.append(parts);
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  #footer(): Uint8Array {
    const { columns } = this.#options;
    const writer = new CompactWriter();
    writer.struct(() => {
      writer.numberField(1, TYPE.i32, 1);
      writer.listField(2, TYPE.struct, columns.length + 1);
      writer.struct(() => {
        writer.textField(4, 'rows');
        writer.numberField(5, TYPE.i32, columns.length);
      });
      for (const column of columns) writeColumn(writer, column);
      writer.numberField(3, TYPE.i64, this.#rowCount);
      writer.listField(4, TYPE.struct, this.#groupCount);
      writer.encoded(this.#groups.bytes);
    });
    return writer.bytes;
  }

  #addGroup(rowCount: number, chunks: readonly Chunk[]): void {
    const writer = this.#groups;
    writer.struct(() => {
      writer.listField(1, TYPE.struct, chunks.length);
      for (const [i, { offset, bytes }] of chunks.entries()) {
        const { name, type } = this.#options.columns[i];
        writer.struct(() => {
          writer.numberField(2, TYPE.i64, offset);
          writer.structField(3, () => {
            writer.numberField(1, TYPE.i32, TYPES[type].physical);
            writer.listField(2, TYPE.i32, 2);
            for (const encoding of [PLAIN, RUNS]) writer.number(encoding);
            writer.listField(3, TYPE.binary, 1);
            writer.text(name);
            writer.numberField(4, TYPE.i32, UNCOMPRESSED);
            writer.numberField(5, TYPE.i64, rowCount);
            writer.numberField(6, TYPE.i64, bytes);
            writer.numberField(7, TYPE.i64, bytes);
            writer.numberField(9, TYPE.i64, offset);
          });
        });
      }
      writer.numberField(
        2,
        TYPE.i64,
        chunks.reduce((sum, { bytes }) => sum + bytes, 0),
      );
      writer.numberField(3, TYPE.i64, rowCount);
    });
  }
}

function writeColumn(writer: CompactWriter, { name, type }: PlainColumn): void {
  const { physical, converted, isNanos }: TypeNumbers = TYPES[type];
  writer.struct(() => {
    writer.numberField(1, TYPE.i32, physical);
    writer.numberField(3, TYPE.i32, OPTIONAL);
    writer.textField(4, name);
    if (converted !== undefined) writer.numberField(6, TYPE.i32, converted);
    if (isNanos !== true) return;
    writer.structField(10, () =>
      writer.structField(8, () => {
        writer.booleanField(1, false);
        writer.structField(2, () => writer.structField(3, () => undefined));
      }),
    );
  });
}

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Returns the parts of a page: header, levels, and the values of the rows that have one. */
function pageOf(rowCount: number, { values, validity }: PlainValues, width: 4 | 8): Uint8Array[] {
  const words = new Int32Array(values.buffer, values.byteOffset, values.byteLength / 4);
  invariant(words.length === (rowCount * width) / 4, 'plain file: width of values');
  const present = validity === undefined ? words : presentWords(words, validity, rowCount);
  const levels = validity === undefined ? [levelsHead(2 * rowCount, 1), ALL_PRESENT] : levelsOf(validity, rowCount);
  const data = [...levels, new Uint8Array(present.buffer, present.byteOffset, present.byteLength)];
  const bytes = sizeOf(data);
  const writer = new CompactWriter();
  writer.struct(() => {
    writer.numberField(1, TYPE.i32, DATA_PAGE);
    writer.numberField(2, TYPE.i32, bytes);
    writer.numberField(3, TYPE.i32, bytes);
    writer.structField(5, () => {
      writer.numberField(1, TYPE.i32, rowCount);
      writer.numberField(2, TYPE.i32, PLAIN);
      writer.numberField(3, TYPE.i32, RUNS);
      writer.numberField(4, TYPE.i32, RUNS);
    });
  });
  return [writer.bytes, ...data];
}

/** The level of a run of rows that all have a value. */
const ALL_PRESENT = Uint8Array.of(1);

/** Returns levels of which each is a bit: those are the validity as it is. */
function levelsOf(validity: Uint8Array, rowCount: number): Uint8Array[] {
  const bits = validity.subarray(0, (rowCount + 7) >> 3);
  return [levelsHead(2 * bits.length + 1, bits.length), bits];
}

/**
 * Returns the length of all levels, and the header of their only run.
 * @param run twice the rows of a run of one level; or twice the bytes of bits, plus 1.
 */
function levelsHead(run: number, runBytes: number): Uint8Array {
  const head: number[] = [0, 0, 0, 0];
  let rest = run;
  for (; rest >= 128; rest >>>= 7) head.push((rest & 127) | 128);
  head.push(rest);
  const bytes = Uint8Array.from(head);
  new DataView(bytes.buffer).setUint32(0, bytes.length - 4 + runBytes, true);
  return bytes;
}

/** Returns the words of the rows that have a value, without gaps. */
function presentWords(words: Int32Array<ArrayBuffer>, validity: Uint8Array, rowCount: number): Int32Array<ArrayBuffer> {
  const isPair = words.length > rowCount;
  const present = new Int32Array(words.length);
  let length = 0;
  for (let row = 0; row < rowCount; row++) {
    if ((validity[row >> 3] & (1 << (row & 7))) === 0) continue;
    if (isPair) {
      present[length++] = words[2 * row];
      present[length++] = words[2 * row + 1];
    } else {
      present[length++] = words[row];
    }
  }
  return present.subarray(0, length);
}
