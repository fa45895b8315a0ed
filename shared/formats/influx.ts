import { AlmanacError } from '#shared/errors/almanac-error';
import type { ValueType } from '#shared/duckdb/chunk-reader';

import type { OutputColumn, ResultFormat } from './format.js';
import type { CellWriter } from './cell-rows.js';
import { arraySql, encodeArrays, jsonSql, jsonWriter } from './json.js';

/** Units of the parameter `epoch`, in nanoseconds. */
const EPOCHS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  u: 1_000n,
  µ: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Units of timestamp types, in nanoseconds. */
const UNITS: Readonly<Record<string, bigint>> = {
  TimestampSecond: 1_000_000_000n,
  TimestampMillisecond: 1_000_000n,
  TimestampMicrosecond: 1_000n,
  TimestampNanosecond: 1n,
};

/** The format `influxdb_v1`, as replies of InfluxDB 1 to queries, with timestamps in the units of their columns. */
export const influxFormat = inEpoch('', undefined);

/**
 * Returns the format with all timestamps in one unit.
 *
 * @param epoch in any case; empty: the units of the columns.
 * @throws `invalid_arguments` for an unknown unit.
 */
export function influxFormatIn(epoch: string): ResultFormat {
  if (epoch === '') return influxFormat;
  const name = epoch.toLowerCase();
  const unit = Object.hasOwn(EPOCHS, name) ? EPOCHS[name] : undefined;
  if (unit !== undefined) return inEpoch(name, unit);
  const names = Object.keys(EPOCHS).join(', ');
  throw new AlmanacError('invalid_arguments', `unknown epoch "${epoch.slice(0, 50)}": use one of ${names}`);
}

function inEpoch(epoch: string, unit: bigint | undefined): ResultFormat {
  const before = (index: number): string => `${index === 0 ? '{"results":[' : ','}{"statement_id":${index},`;
  const valueSql = (column: OutputColumn, name: string): string | undefined => {
    const ratio = ratioOf(column.type, unit);
    const sql = jsonSql(column, name);
    if (ratio === undefined || sql === undefined) return sql;
    const { times, by } = ratio;
    // Rounds down, as the shift of the integer division by the remainder of negative values does.
    const value = `CAST(${sql} AS HUGEINT) * ${times}`;
    return `CAST((${value} - ((${value}) % ${by} + ${by}) % ${by}) // ${by} AS VARCHAR)`;
  };
  return {
    names: [epoch === '' ? 'influxdb_v1' : `influxdb_v1:${epoch}`],
    contentType: 'application/json',
    isSingle: false,
    separator: ',',

    head(columns, index) {
      const names = JSON.stringify(columns.map(({ name }) => name));
      return `${before(index)}"series":[{"name":"","columns":${names},"values":[`;
    },
    tail: () => ']}]}',
    affected: (_rowCount, index) => `${before(index)}"series":[]}`,
    end: (resultCount, elapsedMs) => `${resultCount === 0 ? '{"results":[' : ''}],"execution_time_ms":${elapsedMs}}`,

    encodeRows(columns, cells, rowCount) {
      const writers = columns.map(({ type }) => timeWriter(type, unit) ?? jsonWriter(type));
      return encodeArrays(cells, rowCount, writers);
    },
    rowSql: (columns, names) => arraySql(columns, names, valueSql),
  };
}

function timeWriter(type: ValueType, unit: bigint | undefined): CellWriter | undefined {
  const ratio = ratioOf(type, unit);
  if (ratio === undefined) return undefined;
  const { times, by } = ratio;
  return {
    write(out, cell) {
      const value = BigInt(cell as bigint | number) * times;
      const rest = ((value % by) + by) % by;
      out.bigint((value - rest) / by);
    },
  };
}

/** Returns by what timestamps of a type are multiplied and divided; undefined for other types, and for their own unit. */
function ratioOf({ name }: ValueType, unit: bigint | undefined): { times: bigint; by: bigint } | undefined {
  const own = Object.hasOwn(UNITS, name) ? UNITS[name] : undefined;
  if (own === undefined || unit === undefined || own === unit) return undefined;
  return own > unit ? { times: own / unit, by: 1n } : { times: 1n, by: unit / own };
}
