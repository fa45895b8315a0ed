import type { Config } from '#shared/config/schema';
import type { WriteOptions } from '#shared/write/writer-types';

import type { RequestContext } from '../../request-context.js';
import { databaseOfWrite } from './database.js';
import { hintsOf } from './hints.js';

const TIME_TYPE = 'TimestampNanosecond';

/** Returns the name of the time index that Almanac gives to tables of protocols without a name for it. */
export function timeColumnOf({ defaultColumnPrefix, naming }: Config): string {
  return `${defaultColumnPrefix === '' ? naming : defaultColumnPrefix}_timestamp`;
}

/**
 * Returns the options of a write to tables that keep every row, with times in nanoseconds.
 *
 * @throws `invalid_arguments` for a malformed hint.
 */
export function appendWriteOptions(context: RequestContext, config: Config, timeColumn: string): WriteOptions {
  const { autoCreateTable, tableOptions } = hintsOf(context);
  const { merge_mode, ...others } = tableOptions;
  // Tables that keep every row have no versions to merge.
  const isMerged = others['append_mode'] === 'false' && merge_mode !== undefined;
  return {
    database: databaseOfWrite(context, ['db']),
    create: config.autoCreateTable && autoCreateTable !== false,
    timeIndex: { name: timeColumn, type: TIME_TYPE },
    tableOptions: { append_mode: 'true', ...others, ...(isMerged ? { merge_mode } : {}) },
    timeType: TIME_TYPE,
  };
}
