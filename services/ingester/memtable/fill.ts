import type { Table } from '#shared/contracts/gen/common';
import { CHUNK_ROWS, type ChunkColumn, type ChunkWriter } from '#shared/duckdb/chunk-writer';
import { dataType } from '#shared/schema/data-type';
import { fieldsOf, timeIndexOf } from '#shared/schema/table-schema';
import type { Generation, HeldBatch } from './generation.js';

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

/**
 * Hands the rows of a generation to the engine, in the order in which they were put: `(sid, time, fields ..)`, the
 * columns of `generationColumns`.
 *
 * @param rest is awaited between slices of about 20 chunks (10 ms), so that requests are served meanwhile.
 */
export async function fillGeneration(
  writer: ChunkWriter,
  table: Table,
  generation: Generation,
  rest: () => Promise<void>,
): Promise<void> {
  const fieldIds = fieldsOf(table).map((column) => column.id);
  const unit = dataType(timeIndexOf(table).type).timeUnit ?? 'ns';
  let rowsSinceRest = 0;
  for (const held of generation.batches) {
    fillBatch(writer, held, fieldIds, unit);
    rowsSinceRest += held.batch.rowCount;
    if (rowsSinceRest >= REST_ROWS) {
      rowsSinceRest = 0;
      await rest();
    }
  }
}

const REST_ROWS = 20 * CHUNK_ROWS;

function fillBatch(writer: ChunkWriter, { batch, sids }: HeldBatch, fieldIds: readonly number[], unit: string): void {
  const byId = new Map(batch.columns.map((column) => [column.columnId, column]));
  const rowSids = new Uint32Array(batch.rowCount);
  for (let row = 0; row < rowSids.length; row++) rowSids[row] = sids[batch.seriesIndex[row]];
  const columns: ChunkColumn[] = [
    { kind: 'u32', values: rowSids },
    { kind: 'time', unit, values: batch.times },
    ...fieldIds.map((id): ChunkColumn => {
      const column = byId.get(id);
      return column === undefined ? NULLS : { kind: 'column', column };
    }),
  ];
  for (let from = 0; from < batch.rowCount; from += CHUNK_ROWS) {
    writer.append(columns, from, Math.min(from + CHUNK_ROWS, batch.rowCount));
  }
}
