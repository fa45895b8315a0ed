import type { OpenFile } from '#shared/fs/file-system';
import { divisorId, scaledId } from '#shared/duckdb/scaled-columns';
import { invariant } from '#shared/errors/invariant';
import type { LocalStore } from '#shared/segments/local-store';

import { UnknownLayout } from '#shared/parquet/compact-protocol';
import { decodeChunk, type ColumnValues } from './decode-chunk.js';
import { parseFooter, type ColumnChunks, type SegmentFooter } from './footer.js';
import type { ScratchArrays } from './scratch-arrays.js';
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

  /** Reads a column of a row group; undefined if the file does not have it. @throws `UnknownLayout` as `open`. */
  async read(columnId: number, group: number): Promise<ColumnValues | undefined> {
    const places = placesOf(this.footer, columnId, group);
    return decodeColumn(places, await this.chunks(places), this.footer.rowCounts[group]);
  }

  /**
   * Reads the pages of columns in row groups, to be decoded. What is close together in the file is read at once.
   *
   * @param scratch has the memory of the pages; undefined: they get their own
   */
  async chunks(chunks: readonly ChunkPlace[], scratch?: ScratchArrays): Promise<Uint8Array[]> {
    const ranges: { readonly at: number; readonly from: number; readonly to: number }[] = [];
    for (const { column, group } of chunks) {
      const from = column.offsets[group];
      ranges.push({ at: ranges.length, from, to: from + column.lengths[group] });
    }
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
      const bytes = await rangeOf(this.#file, from, to - from, scratch);
      for (const range of own) found[range.at] = bytes.subarray(range.from - from, range.to - from);
    };
    await Promise.all(reads.map(read));
    return found;
  }
}

/**
 * Returns where the values of a column in a row group are, to be decoded by `decodeColumn`; none if the file does not have it.
 *
 * @throws `UnknownLayout` if the engine must read it.
 */
export function placesOf(footer: SegmentFooter, columnId: number, group: number): ChunkPlace[] {
  const isScaled = !isNull(footer, scaledId(columnId), group);
  const isPlain = !isScaled || !isNull(footer, columnId, group);
  const ids = [...(isPlain ? [columnId] : []), ...(isScaled ? [scaledId(columnId), divisorId(columnId)] : [])];
  return ids.flatMap((id) => {
    const column = footer.columns.get(id);
    if (column === undefined && (isScaled || footer.otherIds.has(id))) throw new UnknownLayout(`column ${id}`);
    return column === undefined ? [] : [{ column, group }];
  });
}

/** Returns whether a column has no value in a row group, as far as the footer tells. */
function isNull({ columns, otherIds, rowCounts }: SegmentFooter, columnId: number, group: number): boolean {
  const column = columns.get(columnId);
  if (column === undefined) return !otherIds.has(columnId);
  return column.storedNulls[group] === rowCounts[group];
}

/**
 * Decodes a column of a row group, with its scaled values.
 *
 * @param places of `placesOf`
 * @param pages one for each of these
 * @param scratch has the memory of the values; undefined: they get their own
 * @returns undefined if the file does not have the column.
 * @throws `UnknownLayout` if the engine must read it.
 */
export function decodeColumn(
  places: readonly ChunkPlace[],
  pages: readonly Uint8Array[],
  rowCount: number,
  scratch?: ScratchArrays,
): ColumnValues | undefined {
  const [first, ...others] = places.map(({ column, group }, i) => {
    return decodeChunk(pages[i], column, { group, rowCount }, scratch);
  });
  if (places.length < 2) return first;
  const [scaled, divisors] = places.length === 2 ? [first, others[0]] : others;
  return joinScaled({ plain: places.length === 2 ? undefined : first, scaled, divisors });
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

async function rangeOf(
  file: OpenFile,
  from: number,
  length: number,
  scratch?: ScratchArrays,
): Promise<Uint8Array<ArrayBuffer>> {
  const target = new Uint8Array(scratch?.take(length) ?? new ArrayBuffer(length), 0, length);
  invariant((await file.read(target, from)) === length, 'segment ends within a range that its footer names');
  return target;
}
