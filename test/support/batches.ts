import { SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import type { RowBatch } from '#shared/rowbatch/row-batch';

/** One batch with a column of each storage, nulls and wide values; the golden file holds its bytes. */
export function mixedBatch(): RowBatch {
  const builder = new TableBuilder('t');
  const series = [0x0102030405060708n, 0xfffffffffffffffen].map((tsid) => new SeriesEntry('t', tsid, []));
  const types = ['Int64', 'Int64', 'UInt64', 'Float64', 'Float32', 'Boolean', 'String', 'Binary', 'Date', 'Json'];
  for (let row = 0; row < 9; row++) {
    builder.startRow(series[row % 2]);
    for (const [i, type] of types.entries()) {
      const field = builder.field(`${type}${i}`, type);
      // The first column has no nulls; the second is narrow.
      if (i > 0 && row % (i + 1) === 1) continue;
      if (type === 'String' || type === 'Json') {
        field.setBytes(row, Buffer.from(`"${'é'.repeat(row)}"`), 0, 2 * row + 2);
      } else if (type === 'Binary') field.setBytes(row, Buffer.from([row, 255]), 0, 2);
      else if (type === 'UInt64') field.setBigInt(row, 18_446_744_073_709_551_615n - BigInt(row));
      else if (type === 'Boolean') field.setNumber(row, row & 1);
      else if (type.startsWith('Float')) field.setNumber(row, row / 3);
      else field.setNumber(row, i === 0 ? row * 1e12 : row * 30 - 100);
    }
    builder.endRowAt(1_700_000_000_000_000_000n + BigInt(row));
  }
  const names = builder.fields.map((field) => field.name);
  return builder.finish((name) => 2 + names.indexOf(name));
}
