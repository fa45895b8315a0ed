import type { Column as TableColumn, Table } from '#shared/contracts/gen/common';
import { CHUNK_ROWS, type ChunkColumn, type ChunkWriter } from '#shared/duckdb/chunk-writer';
import { decodeTags } from '#shared/rowbatch/definitions';
import { textColumn } from '#shared/rowbatch/text-column';
import { tagsOf } from '#shared/schema/table-schema';
import type { SeriesRegistry } from './series-registry.js';

const NULLS: ChunkColumn = { kind: 'null' };

/** A run of series whose tags are in memory. */
export interface SeriesRun {
  readonly from: number;
  readonly to: number;
  tsidOf(sid: number): bigint;
  tagsOf(sid: number): Uint8Array;
}

export function unpublishedRun(registry: SeriesRegistry, from: number, to: number): SeriesRun {
  return { from, to, tsidOf: (sid) => registry.tsidOf(sid), tagsOf: (sid) => registry.tagsOf(sid) };
}

/**
 * Hands definitions of series to the engine: `(sid, tsid, tags ..)`, the columns of `seriesColumns`. Values of typed
 * tags are canonical text, which the engine casts.
 */
export async function fillSeries(
  writer: ChunkWriter,
  table: Table,
  run: SeriesRun,
  rest: () => Promise<void>,
): Promise<void> {
  const tags = tagsOf(table);
  for (let from = run.from; from < run.to; from += CHUNK_ROWS) {
    const count = Math.min(CHUNK_ROWS, run.to - from);
    writer.append(seriesBlock(run, from, count, tags), 0, count);
    await rest();
  }
}

function seriesBlock(run: SeriesRun, from: number, count: number, tags: readonly TableColumn[]): ChunkColumn[] {
  const sids = new Uint32Array(count);
  const tsids = new BigUint64Array(count);
  const rows: Map<number, Uint8Array>[] = [];
  for (let i = 0; i < count; i++) {
    sids[i] = from + i;
    tsids[i] = run.tsidOf(from + i);
    rows.push(new Map(decodeTags(run.tagsOf(from + i)).map((tag) => [tag.columnId, tag.value])));
  }
  return [
    { kind: 'u32', values: sids },
    { kind: 'u64', values: tsids },
    ...tags.map((tag): ChunkColumn => {
      const column = textColumn(
        tag,
        rows.map((values) => values.get(tag.id)),
      );
      return column === undefined ? NULLS : { kind: 'column', column };
    }),
  ];
}
