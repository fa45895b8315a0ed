import { SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import type { RowBatch } from '#shared/rowbatch/row-batch';

/** Returns a batch like those of TSBS: one row for each of `rowCount` series, with ten small integers. */
export function integerBatch(rowCount: number): RowBatch {
  const builder = new TableBuilder('cpu');
  const fields = Array.from({ length: 10 }, (_, i) => `usage_${i}`);
  for (let row = 0; row < rowCount; row++) {
    builder.startRow(new SeriesEntry('cpu', BigInt(row) * 0x9e3779b97f4a7c15n, []));
    for (const [i, name] of fields.entries()) builder.field(name, 'Int64').setNumber(row, (row * 7 + i) % 100);
    builder.endRowAt(1_700_000_000_000_000_000n + BigInt(row));
  }
  return builder.finish((name) => 2 + fields.indexOf(name));
}
