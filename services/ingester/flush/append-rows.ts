import type { Table } from '#shared/contracts/gen/common';
import { CHUNK_ROWS, type ChunkColumn, type ChunkWriter } from '#shared/duckdb/chunk-writer';
import { isBytes } from '#shared/rowbatch/column';
import { dataType } from '#shared/schema/data-type';
import { fieldsOf } from '#shared/schema/table-schema';

/** Cells that are appended between two yields: about 10 ms. A text counts as several. */
const REST_CELLS = 500_000;
/**
 * Cells after which the engine's appender is flushed: about 30 ms. On its own it flushes at 200,000 rows, and wide rows
 * then blocked the event loop for 150 ms.
 */
const FLUSH_CELLS = 1_000_000;
const TEXT_CELLS = 5;

/** Returns the number of cells of a row. */
export function cellsOf(table: Table): number {
  return 2 + fieldsOf(table).reduce((sum, { type }) => sum + (isBytes(dataType(type).storage) ? TEXT_CELLS : 1), 0);
}

/**
 * Appends rows `[from, to)` of the columns to the engine.
 *
 * @param from a multiple of 8.
 * @param cells of a row.
 * @param rest awaited between slices, so that requests are served meanwhile.
 */
export async function appendRows(
  writer: ChunkWriter,
  columns: readonly ChunkColumn[],
  { from, to, cells }: { readonly from: number; readonly to: number; readonly cells: number },
  rest: () => Promise<void>,
): Promise<void> {
  let sinceRest = 0;
  let sinceFlush = 0;
  for (let at = from; at < to; at += CHUNK_ROWS) {
    const end = Math.min(at + CHUNK_ROWS, to);
    writer.append(columns, at, end);
    sinceRest += (end - at) * cells;
    if (sinceRest < REST_CELLS) continue;
    sinceFlush += sinceRest;
    sinceRest = 0;
    await rest();
    if (sinceFlush < FLUSH_CELLS) continue;
    sinceFlush = 0;
    writer.flush();
    await rest();
  }
}
