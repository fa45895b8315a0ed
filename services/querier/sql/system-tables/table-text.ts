import type { Table } from '#shared/contracts/gen/common';
import { quoteText } from '#shared/duckdb/quote';
import { isExternal } from '#shared/schema/external-table';
import { ON_PHYSICAL_TABLE, PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';

/** Returns the engine of a table as SHOW CREATE TABLE prints it. */
export function engineOf({ options }: Table): string {
  if (isExternal({ options })) return 'file';
  return PHYSICAL_METRIC_TABLE in options || ON_PHYSICAL_TABLE in options ? 'metric' : 'mito';
}

/** Returns options as `'k'='v'` lines, ttl first. */
export function optionLines(options: Readonly<Record<string, string>>): string {
  const keys = Object.keys(options).sort((a, b) => Number(b === 'ttl') - Number(a === 'ttl') || (a < b ? -1 : 1));
  return keys.map((key) => `${quoteText(key)}=${quoteText(options[key])}\n`).join('');
}
