import type { BatchSet } from '#shared/rowbatch/builder';
import { hasValue, type Column } from '#shared/rowbatch/column';

/** A row as an object. */
export interface PlainRow {
  readonly table: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, readonly [type: string, value: number | bigint | boolean | string]>>;
  readonly timeNs: bigint;
}

/** Returns the rows of a request as objects, table by table. */
export function rowsOf(batches: BatchSet): PlainRow[] {
  const rows: PlainRow[] = [];
  for (const table of batches.tables.values()) {
    const names: string[] = [];
    const batch = table.finish((name) => names.push(name) - 1);
    for (let row = 0; row < batch.rowCount; row++) {
      const { tags } = table.series[batch.seriesIndex[row]];
      const fields = batch.columns
        .filter((column) => hasValue(column, row))
        .map((column) => [names[column.columnId], [column.type, valueOf(column, row)]] as const);
      rows.push({
        table: table.table,
        tags: recordOf(tags.map(({ name, value }) => [name, Buffer.from(value).toString()] as const)),
        fields: recordOf(fields),
        timeNs: batch.times[row],
      });
    }
  }
  return rows;
}

/** Also for names such as `__proto__`. */
function recordOf<T>(entries: readonly (readonly [string, T])[]): Record<string, T> {
  const record: Record<string, T> = {};
  for (const [name, value] of entries) Object.defineProperty(record, name, { value, enumerable: true });
  return record;
}

function valueOf(column: Column, row: number): number | bigint | boolean | string {
  if (column.kind === 'bytes') {
    return Buffer.from(column.bytes.subarray(column.offsets[row], column.offsets[row + 1])).toString();
  }
  const value = column.values[row];
  if (column.type === 'Boolean') return value === 1;
  if (column.type === 'Int64') return BigInt(value);
  if (column.type === 'UInt64') return BigInt.asUintN(64, BigInt(value));
  return value;
}
