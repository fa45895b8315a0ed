import type { Table } from '#shared/contracts/gen/common';
import { CHUNK_ROWS, type ChunkColumn, type ChunkWriter } from '#shared/duckdb/chunk-writer';
import { isBytes } from '#shared/rowbatch/column';
import { dataType } from '#shared/schema/data-type';
import { fieldsOf } from '#shared/schema/table-schema';

/**
 * Cells after which the engine's appender is flushed: 1 ms to append and 3 ms to flush. On its own it flushes at 200,000
 * rows, which blocked the event loop for 50 ms and, with wide rows, for 150 ms. A text counts as several.
 */
const FLUSH_CELLS = 100_000;
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
  let unflushed = 0;
  for (let at = from; at < to; at += CHUNK_ROWS) {
    const end = Math.min(at + CHUNK_ROWS, to);
    writer.append(columns, at, end);
    unflushed += (end - at) * cells;
    if (unflushed < FLUSH_CELLS) continue;
    unflushed = 0;
    await rest();
    writer.flush();
    await rest();
  }
}
