import type { Config } from '#shared/config/schema';
import { PHYSICAL_METRIC_TABLE, type MetricNames } from '#shared/schema/metric-table';
import type { WriteOptions } from '#shared/write/writer-types';

import type { RequestContext } from '../../request-context.js';
import { databaseOfWrite } from './database.js';
import { hintsOf } from './hints.js';

const TIME_TYPE = 'TimestampMillisecond';

/** A write of metrics. */
export interface MetricWrite {
  readonly write: WriteOptions;
  /** Physical metric table of series whose labels name none. */
  readonly defaultTable: string;
}

/** Reads the options of a write of metrics. @throws `invalid_arguments` for a malformed hint. */
export function metricWrite(context: RequestContext, config: Config, names: MetricNames): MetricWrite {
  const hints = hintsOf(context);
  const named = context.query.get('physical_table') ?? '';
  const { ttl } = hints.tableOptions;
  const write: WriteOptions = {
    database: databaseOfWrite(context, ['db']),
    create: config.autoCreateTable && hints.autoCreateTable !== false,
    timeIndex: { name: names.timeColumn, type: TIME_TYPE },
    tableOptions: {
      [PHYSICAL_METRIC_TABLE]: 'true',
      merge_mode: 'last_row',
      ...(ttl === undefined ? {} : { ttl }),
    },
    timeType: TIME_TYPE,
  };
  return { write, defaultTable: named === '' ? (hints.physicalTable ?? names.physicalTable) : named };
}
