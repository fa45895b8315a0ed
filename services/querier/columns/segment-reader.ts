import type { OpenFile } from '#shared/fs/file-system';
import { divisorId, scaledId } from '#shared/duckdb/scaled-columns';
import { invariant } from '#shared/errors/invariant';
import type { LocalStore } from '#shared/segments/local-store';

import { UnknownLayout } from './compact-protocol.js';
import { decodeChunk, type ColumnValues } from './decode-chunk.js';
import { parseFooter, type ColumnChunks, type SegmentFooter } from './footer.js';
import { joinScaled } from './scaled-values.js';
import { loadZstd } from './zstd.js';

/** After the footer: its length and the magic number. */
const TRAILER_BYTES = 8;
const MAGIC = 0x31524150; // PAR1
/** The footer of most segments is shorter. */
const TAIL_BYTES = 1 << 16;

/** Bytes that are read in vain instead of a further read. */
const GAP_BYTES_MAX = 1 << 15;

/** A column of a row group. */
export interface ChunkPlace {
  readonly column: ColumnChunks;
  readonly group: number;
}

/** A segment that is open for reading. */
export class OpenSegment {
  readonly footer: SegmentFooter;
  readonly #file: OpenFile;

  private constructor(file: OpenFile, footer: SegmentFooter) {
    this.#file = file;
    this.footer = footer;
  }

  /**
   * Opens a file and reads its footer.
   *
   * @param known its footer, if it was read before
   * @throws `UnknownLayout` if the engine must read it, `MissingFile` if it does not exist.
   */
  static async open(
    store: LocalStore,
    { path, bytes }: { readonly path: string; readonly bytes: number },
    known?: SegmentFooter,
  ): Promise<OpenSegment> {
    await loadZstd();
    const file = await store.open(path);
    try {
      return new OpenSegment(file, known ?? (await readFooter(file, bytes)));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /**
   * Returns a column of a row group, with its scaled values; undefined if the file does not have it.
   *
   * @throws `UnknownLayout` as `open`.
   */
  async read(columnId: number, group: number): Promise<ColumnValues | undefined> {
    if (this.#isNull(scaledId(columnId), group)) return this.#readOne(columnId, group);
    const plain = this.#isNull(columnId, group) ? undefined : await this.#readOne(columnId, group);
    const scaled = await this.#readOne(scaledId(columnId), group);
    const divisors = await this.#readOne(divisorId(columnId), group);
    if (scaled === undefined || divisors === undefined) throw new UnknownLayout(`scaled column ${columnId}`);
    return joinScaled({ plain, scaled, divisors });
  }

  /** Returns whether a column has no value in a row group, as far as the footer tells. */
  #isNull(columnId: number, group: number): boolean {
    const { columns, otherIds, rowCounts } = this.footer;
    const column = columns.get(columnId);
    if (column === undefined) return !otherIds.has(columnId);
    return column.storedNulls[group] === rowCounts[group];
  }

  async #readOne(columnId: number, group: number): Promise<ColumnValues | undefined> {
    const { columns, otherIds, rowCounts } = this.footer;
    const column = columns.get(columnId);
    if (column === undefined && otherIds.has(columnId)) throw new UnknownLayout(`column ${columnId}`);
    if (column === undefined) return undefined;
    const [pages] = await this.chunks([{ column, group }]);
    return decodeChunk(pages, column, group, rowCounts[group]);
  }

  /** Reads the pages of columns in row groups, to be decoded. What is close together in the file is read at once. */
  async chunks(chunks: readonly ChunkPlace[]): Promise<Uint8Array[]> {
    const ranges = chunks.map(({ column, group }, at) => {
      return { at, from: column.offsets[group], to: column.offsets[group] + column.lengths[group] };
    });
    ranges.sort((a, b) => a.from - b.from);
    const reads: { from: number; to: number; readonly ranges: (typeof ranges)[number][] }[] = [];
    for (const range of ranges) {
      const last = reads.at(-1);
      if (last === undefined || range.from - last.to > GAP_BYTES_MAX) {
        reads.push({ from: range.from, to: range.to, ranges: [range] });
        continue;
      }
      last.to = Math.max(last.to, range.to);
      last.ranges.push(range);
    }
    const found = new Array<Uint8Array>(chunks.length);
    const read = async ({ from, to, ranges: own }: (typeof reads)[number]): Promise<void> => {
      const bytes = await rangeOf(this.#file, from, to - from);
      for (const range of own) found[range.at] = bytes.subarray(range.from - from, range.to - from);
    };
    await Promise.all(reads.map(read));
    return found;
  }
}

async function readFooter(file: OpenFile, bytes: number): Promise<SegmentFooter> {
  const tail = await rangeOf(file, Math.max(0, bytes - TAIL_BYTES), Math.min(bytes, TAIL_BYTES));
  if (tail.length < TRAILER_BYTES) throw new UnknownLayout('file is too short');
  const view = new DataView(tail.buffer, tail.length - TRAILER_BYTES);
  const length = view.getUint32(0, true);
  if (view.getUint32(4, true) !== MAGIC || length > bytes - TRAILER_BYTES) throw new UnknownLayout('no Parquet file');
  const to = tail.length - TRAILER_BYTES;
  if (length <= to) return parseFooter(tail.subarray(to - length, to));
  return parseFooter(await rangeOf(file, bytes - TRAILER_BYTES - length, length));
}

async function rangeOf(file: OpenFile, from: number, length: number): Promise<Uint8Array> {
  const target = new Uint8Array(length);
  invariant((await file.read(target, from)) === length, 'segment ends within a range that its footer names');
  return target;
}
