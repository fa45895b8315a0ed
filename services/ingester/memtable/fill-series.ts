import type { Column as TableColumn, Table } from '#shared/contracts/gen/common';
import { CHUNK_ROWS, type ChunkColumn, type ChunkWriter } from '#shared/duckdb/chunk-writer';
import { decodeTags } from '#shared/rowbatch/definitions';
import { textColumn } from '#shared/rowbatch/text-column';
import { tagsOf } from '#shared/schema/table-schema';
import type { SeriesRegistry } from './series-registry.js';

/**
 * Values, and cells including empty ones, that are appended and flushed at once. On its own the engine's appender flushes at
 * 200,000 series, and blocks the event loop meanwhile.
 */
const BLOCK_VALUES = 48 * 1024;
const BLOCK_CELLS = 256 * 1024;
const NULLS: ChunkColumn = { kind: 'null' };

/** Consecutive series whose tags are in memory. */
export interface SeriesRun {
  readonly from: number;
  readonly to: number;
  tsidOf(sid: number): bigint;
  tagsOf(sid: number): Uint8Array;
}

/** Returns series of a registry that are in no series file yet. */
export function unpublishedRun(registry: SeriesRegistry, from: number, to: number): SeriesRun {
  return { from, to, tsidOf: (sid) => registry.tsidOf(sid), tagsOf: (sid) => registry.tagsOf(sid) };
}

/**
 * Appends definitions of series to the engine: `(sid, tsid, tags ..)`, the columns of `seriesColumns`. Values of typed
 * tags are canonical text, which the engine casts. In a transaction, flushes cost least.
 */
export async function fillSeries(
  writer: ChunkWriter,
  table: Table,
  run: SeriesRun,
  rest: () => Promise<void>,
): Promise<void> {
  const tags = tagsOf(table);
  for (let sid = run.from; sid < run.to;) {
    const block = new SeriesBlock(sid);
    while (sid < run.to && !block.isFull) {
      block.add(run.tsidOf(sid), run.tagsOf(sid));
      sid++;
    }
    writer.append(block.columns(tags), 0, block.rowCount);
    await rest();
    writer.flush();
    await rest();
  }
}

/** Series of one block. A table may have thousands of tags, of which each series has few. */
class SeriesBlock {
  rowCount = 0;
  valueCount = 0;
  readonly #firstSid: number;
  readonly #tsids = new BigUint64Array(CHUNK_ROWS);
  /** By tag: values by row, for tags that some series has. */
  readonly #values = new Map<number, (Uint8Array | undefined)[]>();

  constructor(firstSid: number) {
    this.#firstSid = firstSid;
  }

  get isFull(): boolean {
    const cells = this.rowCount * this.#values.size;
    return this.rowCount === CHUNK_ROWS || this.valueCount >= BLOCK_VALUES || cells >= BLOCK_CELLS;
  }

  add(tsid: bigint, tags: Uint8Array): void {
    for (const { columnId, value } of decodeTags(tags)) {
      let values = this.#values.get(columnId);
      if (values === undefined) this.#values.set(columnId, (values = []));
      values[this.rowCount] = value;
      this.valueCount++;
    }
    this.#tsids[this.rowCount++] = tsid;
  }

  columns(tags: readonly TableColumn[]): ChunkColumn[] {
    const { rowCount } = this;
    return [
      { kind: 'u32', values: Uint32Array.from({ length: rowCount }, (_, row) => this.#firstSid + row) },
      { kind: 'u64', values: this.#tsids },
      ...tags.map((tag): ChunkColumn => {
        const values = this.#values.get(tag.id);
        if (values === undefined) return NULLS;
        values.length = rowCount;
        const column = textColumn(tag, values);
        return column === undefined ? NULLS : { kind: 'column', column };
      }),
    ];
  }
}
