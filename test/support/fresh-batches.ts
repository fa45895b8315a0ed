import type { FixedColumn } from '#shared/rowbatch/column';
import type { FreshBatch } from '#services/querier/snapshot/fresh-part';

/** A row of a batch: its series, time, and the value of each field; null: none. */
export interface FreshRow {
  readonly sid: number;
  readonly time: bigint;
  readonly values: Readonly<Record<number, number | null>>;
}

/** Returns a batch of unflushed rows. @param types of the fields that it has, by column ID */
export function freshBatch(rows: readonly FreshRow[], types: Readonly<Record<number, string>>): FreshBatch {
  const times = rows.map(({ time }) => time).sort((a, b) => (a < b ? -1 : 1));
  const columns = Object.entries(types).map(([id, type]) =>
    columnOf(
      rows.map(({ values }) => values[Number(id)]),
      Number(id),
      type,
    ),
  );
  return {
    sids: Uint32Array.from(rows, ({ sid }) => sid),
    isWhole: true,
    times: { first: times[0], last: times[times.length - 1] },
    rows: {
      rowCount: rows.length,
      times: BigInt64Array.from(rows, ({ time }) => time),
      columns,
    },
  };
}

function columnOf(cells: readonly (number | null)[], columnId: number, type: string): FixedColumn {
  const numbers = cells.map((cell) => cell ?? 0);
  const validity = new Uint8Array((cells.length + 7) >> 3);
  for (const [row, cell] of cells.entries()) if (cell !== null) validity[row >> 3] |= 1 << (row & 7);
  const nullCount = cells.filter((cell) => cell === null).length;
  const base = { kind: 'fixed', columnId, type, nullCount, validity: nullCount === 0 ? undefined : validity } as const;
  if (type === 'Float64') return { ...base, values: Float64Array.from(numbers) };
  if (type === 'Float32') return { ...base, values: Float32Array.from(numbers) };
  // As narrow as in memtables, so that batches have arrays of different types.
  const most = Math.max(...numbers.map(Math.abs));
  if (most < 128) return { ...base, values: Int8Array.from(numbers) };
  if (most < 2 ** 31) return { ...base, values: Int32Array.from(numbers) };
  return { ...base, values: BigInt64Array.from(numbers, BigInt) };
}
