import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { QuerierService } from '#shared/contracts/gen/querier';
import type { Catalog } from '#shared/discovery/catalog';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { lookupKey, type LookupRows, type LookupSource, type LookupSpec } from '../pipelines/lookup-tables.js';
import { INT64_MAX, INT64_MIN, printValue, type PipelineValue } from '../pipelines/values/value.js';
import { stringifyJson, type JsonValue } from '../protocols/common/json.js';
import { sqlRows, type SqlRow } from '../query/sql-rows.js';

const ROWS_MAX = 500_000;
const TABLE_BYTES_MAX = 64 * 1024 * 1024;
/** Approximate memory of a row and of a value besides their texts. */
const ROW_BYTES = 100;
const VALUE_BYTES = 32;

/** Returns how lookups of pipelines read tables: the newest row of each key, by SQL. */
export function lookupSource(querier: QuerierService, catalog: Pick<Catalog, 'table'>): LookupSource {
  return async (spec, call) => {
    const table = await catalog.table(spec.database, spec.table, call);
    return readRows(querier, table, spec, call);
  };
}

async function readRows(querier: QuerierService, table: Table, spec: LookupSpec, call: Call): Promise<LookupRows> {
  const { keys, added, database } = spec;
  const types = new Map(table.columns.map(({ name, type }) => [name, type]));
  const columns = [...keys, ...added];
  const unknown = columns.find((name) => !types.has(name));
  if (unknown !== undefined) throw refused(spec, `has no column "${unknown}"`);
  const time = table.columns.find(({ kind }) => kind === 'time')?.name;
  const order = time === undefined ? '' : ` ORDER BY ${quoteName(time)} DESC`;
  const select = columns.map(quoteName).join(', ');
  const sql = `SELECT ${select} FROM ${quoteName(table.name)}${order} LIMIT ${ROWS_MAX + 1}`;
  const isInteger = columns.map((name) => /^U?Int/.test(types.get(name) ?? ''));
  const byKey = new Map<string, readonly PipelineValue[]>();
  let bytes = 0;
  let rowCount = 0;
  for await (const block of sqlRows(querier, { sql, database }, call)) {
    rowCount += block.length;
    if (rowCount > ROWS_MAX) throw refused(spec, `has more than ${ROWS_MAX} rows`);
    for (const row of block) bytes += addRow(byKey, row, isInteger, keys.length);
    if (bytes > TABLE_BYTES_MAX) throw refused(spec, `needs more than ${TABLE_BYTES_MAX} bytes of memory`);
  }
  return { byKey, bytes };
}

/** Adds a row, unless a newer one has its key. @returns its approximate size. */
function addRow(
  byKey: Map<string, readonly PipelineValue[]>,
  row: SqlRow,
  isInteger: readonly boolean[],
  keyCount: number,
): number {
  const values = row.map((value, i) => pipelineValue(value, isInteger[i]));
  const keyValues = values.slice(0, keyCount);
  if (keyValues.includes(null)) return 0;
  const key = lookupKey(keyValues.map(printValue));
  if (byKey.has(key)) return 0;
  const added = values.slice(keyCount);
  byKey.set(key, added);
  const texts = added.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
  return ROW_BYTES + 2 * (key.length + texts) + VALUE_BYTES * added.length;
}

function pipelineValue(value: JsonValue, isInteger: boolean): PipelineValue {
  if (typeof value === 'bigint') return value >= INT64_MIN && value <= INT64_MAX ? value : Number(value);
  if (typeof value === 'number') return isInteger && Number.isSafeInteger(value) ? BigInt(value) : value;
  return value === null || typeof value !== 'object' ? value : stringifyJson(value);
}

function refused({ database, table }: LookupSpec, text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `lookup table "${database}.${table}" ${text}`);
}
