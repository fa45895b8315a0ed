import { dataType } from '#shared/schema/data-type';

import type { Generation } from '../memtable/generation.js';

/**
 * Returns the bytes of the widest values of each integer field of a generation, by column id. Excludes dates and
 * timestamps, whose types determine their width.
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
