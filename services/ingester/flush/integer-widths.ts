import { dataType } from '#shared/schema/data-type';

import type { Generation } from '../memtable/generation.js';

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
