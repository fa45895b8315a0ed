import type { Table } from '#shared/contracts/gen/common';
import { CHUNK_ROWS, type ChunkColumn, type ChunkWriter } from '#shared/duckdb/chunk-writer';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { dataType } from '#shared/schema/data-type';
import { fieldsOf, timeIndexOf } from '#shared/schema/table-schema';
import type { Generation } from './generation.js';

const NULLS: ChunkColumn = { kind: 'null' };

/**
 * Bytes of the widest values of each integer field that a generation holds, by column id. Dates and timestamps are not
 * in it: their type says how wide they are.
 */
export function integerWidths(generation: Generation): Map<number, number> {
  const widths = new Map<number, number>();
  for (const { batch } of generation.batches) {
    for (const column of batch.columns) {
      if (column.kind !== 'fixed' || !isPlainInteger(column.type)) continue;
      widths.set(column.columnId, Math.max(widths.get(column.columnId) ?? 0, column.values.BYTES_PER_ELEMENT));
    }
  }
  return widths;
}

function isPlainInteger(type: string): boolean {
  const { storage, timeUnit, name } = dataType(type);
  return storage === 'int' && timeUnit === undefined && name !== 'Date';
}

/** Cells that are handed over between two rests: about 10 ms. A text counts as several. */
const REST_CELLS = 500_000;
/**
 * Cells after which the engine takes over what it was handed: about 30 ms. Left alone it does so at 200,000 rows, and
 * wide rows then held the event loop for 150 ms.
 */
const FLUSH_CELLS = 1_000_000;
const TEXT_CELLS = 5;
const TEXTS: ReadonlySet<string> = new Set(['text', 'binary']);

/**
 * Hands the rows of a generation to the engine, in the order in which they were put: `(sid, time, fields ..)`, the
 * columns of `generationColumns`.
 *
 * @param rest is awaited between slices, so that requests are served meanwhile.
 */
export async function fillGeneration(
  writer: ChunkWriter,
  table: Table,
  generation: Generation,
  rest: () => Promise<void>,
): Promise<void> {
  const fields = fieldsOf(table);
  const fieldIds = fields.map((column) => column.id);
  const unit = dataType(timeIndexOf(table).type).timeUnit ?? 'ns';
  const width = 2 + fields.reduce((sum, { type }) => sum + (TEXTS.has(dataType(type).storage) ? TEXT_CELLS : 1), 0);
  let sinceRest = 0;
  let sinceFlush = 0;
  for (const { batch, sids } of generation.batches) {
    const columns = chunkColumns(batch, sids, fieldIds, unit);
    // A batch may have hundreds of thousands of rows, so rests are inside of it too.
    for (let from = 0; from < batch.rowCount; from += CHUNK_ROWS) {
      const to = Math.min(from + CHUNK_ROWS, batch.rowCount);
      writer.append(columns, from, to);
      sinceRest += (to - from) * width;
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
}

/** The columns of a batch in the order of `generationColumns`. */
function chunkColumns(batch: RowBatch, sids: Uint32Array, fieldIds: readonly number[], unit: string): ChunkColumn[] {
  const byId = new Map(batch.columns.map((column) => [column.columnId, column]));
  const rowSids = new Uint32Array(batch.rowCount);
  for (let row = 0; row < rowSids.length; row++) rowSids[row] = sids[batch.seriesIndex[row]];
  return [
    { kind: 'u32', values: rowSids },
    { kind: 'time', unit, values: batch.times },
    ...fieldIds.map((id): ChunkColumn => {
      const column = byId.get(id);
      return column === undefined ? NULLS : { kind: 'column', column };
    }),
  ];
}
