import { decompress, isLoaded } from '@foxglove/wasm-zstd';
import { parquetMetadataAsync, parquetRead } from 'hyparquet';

import { invariant } from '#shared/errors/invariant';
import type { FileSystem, OpenFile } from '#shared/fs/file-system';
import { BloomBuilder } from '#shared/term-index/bloom';
import type { BuiltIndex } from '#shared/term-index/index-file';
import { InvertedBuilder } from '#shared/term-index/inverted-builder';
import type { TermIndexOptions } from '#shared/term-index/options';

/** A column whose texts are indexed. */
export interface IndexedColumn {
  readonly id: number;
  /** Its name in the file. */
  readonly name: string;
  readonly options: TermIndexOptions;
}

/** Texts as bytes; values of other types are not read. */
const AS_BYTES = { stringFromBytes: (bytes: Uint8Array) => bytes };

/**
 * Builds the term indexes of a segment's columns from its file, one row group at a time.
 *
 * @param seed a random number of 32 bits.
 * @throws if the file cannot be read, or `CollidingTerms`.
 */
export async function buildIndexes(
  fs: FileSystem,
  path: string,
  columns: readonly IndexedColumn[],
  seed: number,
): Promise<BuiltIndex[]> {
  await isLoaded;
  const bytes = (await fs.size(path)) ?? 0;
  const file = await fs.open(path, 'read');
  try {
    const source = { byteLength: bytes, slice: (from: number, to = bytes) => rangeOf(file, from, to) };
    const metadata = await parquetMetadataAsync(source);
    const indexes: BuiltIndex[] = [];
    for (const { id, name, options } of columns) {
      const builder = options.kind === 'bloom' ? new BloomBuilder(options) : new InvertedBuilder(seed);
      let rowCount = 0;
      for (const { num_rows: rows } of metadata.row_groups) {
        const [rowStart, rowEnd] = [rowCount, rowCount + Number(rows)];
        await parquetRead({
          file: source,
          metadata,
          columns: [name],
          rowStart,
          rowEnd,
          compressors: { ZSTD: (input, size) => decompress(input, size) },
          // The other parsers are for types that no text has.
          parsers: AS_BYTES as never,
          onChunk: ({ columnData }) => {
            for (const text of columnData as Iterable<Uint8Array | null | undefined>) builder.add(text ?? undefined);
          },
        });
        rowCount = rowEnd;
      }
      const built = builder.finish();
      const parts = built instanceof Uint8Array ? [{ rowFrom: 0, rowTo: rowCount, section: built }] : built;
      indexes.push({ columnId: id, kind: options.kind, parts });
    }
    return indexes;
  } finally {
    await file.close();
  }
}

async function rangeOf(file: OpenFile, from: number, to: number): Promise<ArrayBuffer> {
  const target = new Uint8Array(to - from);
  const bytes = await file.read(target, from);
  invariant(bytes === target.length, 'segment ends within a range that its footer names');
  return target.buffer;
}
