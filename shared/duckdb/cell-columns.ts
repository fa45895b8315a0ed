import type { Column } from '#shared/rowbatch/column';
import { textColumn } from '#shared/rowbatch/text-column';
import { dataType } from '#shared/schema/data-type';

import type { Cell } from './chunk-reader.js';
import type { ChunkColumn } from './chunk-writer.js';

/** A column that is filled from cells: text, doubles or timestamps. */
export interface FilledColumn {
  readonly name: string;
  /** Native type name. */
  readonly type: string;
}

const ENCODER = new TextEncoder();
const NULLS: ChunkColumn = { kind: 'null' };

/** Converts cells to a column that `ChunkWriter` accepts. */
export function chunkColumn({ type }: FilledColumn, cells: readonly Cell[]): ChunkColumn {
  const { storage, timeUnit } = dataType(type);
  if (storage === 'text') {
    const values = cells.map((cell) => (cell === null ? undefined : ENCODER.encode(cell as string)));
    const column = textColumn({ id: 0, type }, values);
    return column === undefined ? NULLS : { kind: 'column', column };
  }
  const values =
    timeUnit === undefined
      ? Float64Array.from(cells, (cell) => Number(cell))
      : BigInt64Array.from(cells, (cell) => BigInt((cell ?? 0) as number | bigint));
  const column: Column = { kind: 'fixed', columnId: 0, type, values, ...validityOf(cells) };
  return { kind: 'column', column };
}

function validityOf(cells: readonly Cell[]): Pick<Column, 'nullCount' | 'validity'> {
  let nullCount = 0;
  const validity = new Uint8Array((cells.length + 7) >> 3);
  for (const [row, cell] of cells.entries()) {
    if (cell === null) nullCount++;
    else validity[row >> 3] |= 1 << (row & 7);
  }
  return { nullCount, validity: nullCount === 0 ? undefined : validity };
}
