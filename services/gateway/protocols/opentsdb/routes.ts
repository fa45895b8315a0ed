import type { Config } from '#shared/config/schema';
import { metricNames } from '#shared/schema/metric-table';

import type { RequestContext } from '../../request-context.js';
import { DatabaseCaches } from '../common/cache-memory.js';
import { databaseOfWrite } from '../common/database.js';
import { ENCODINGS } from '../common/encodings.js';
import { hintsOf } from '../common/hints.js';
import { TagSeriesCache } from '../common/tag-series.js';
import {
  ingestRoute,
  type DecodeInput,
  type Decoding,
  type IngestOptions,
  type ProtocolDeps,
  type ProtocolRoutes,
} from '../protocol.js';
import { OpentsdbDecoder, type OpentsdbColumns } from './decode.js';
import { OPENTSDB_PUT_DOC } from './doc.js';
import { OpentsdbReplies, type Detail } from './replies.js';

const TIME_TYPE = 'TimestampMillisecond';

interface OpentsdbOptions extends IngestOptions {
  readonly replies: OpentsdbReplies;
}

/** Opens the routes of OpenTSDB. */
export function opentsdbRoutes({ config, memory }: ProtocolDeps): ProtocolRoutes {
  const { timeColumn, valueColumn } = metricNames(config);
  const columns: OpentsdbColumns = { time: timeColumn, value: valueColumn };
  const caches = new DatabaseCaches(memory, (it) => new TagSeriesCache(it));
  const decode = ({ bytes, batches }: DecodeInput, { write, replies }: OpentsdbOptions): Decoding => {
    replies.decoder = new OpentsdbDecoder(bytes, batches, columns, caches.of(write.database));
    return replies.decoder;
  };
  const route = {
    encodings: ENCODINGS,
    partialSuccess: true,
    options: opentsdbOptions(config, timeColumn),
    decode,
    replies: new OpentsdbReplies('none'),
    doc: OPENTSDB_PUT_DOC,
  };
  return {
    prefixes: ['/v1/tsdbput', '/v1/opentsdb'],
    routes: ['/api/put', '/api/put/'].map((path) => ingestRoute({ path, ...route })),
  };
}

function opentsdbOptions(config: Config, timeColumn: string): (context: RequestContext) => OpentsdbOptions {
  return (context) => {
    const { autoCreateTable, tableOptions } = hintsOf(context);
    return {
      write: {
        database: databaseOfWrite(context, ['db']),
        create: config.autoCreateTable && autoCreateTable !== false,
        timeIndex: { name: timeColumn, type: TIME_TYPE },
        tableOptions:
          tableOptions['append_mode'] === 'true' ? tableOptions : { merge_mode: 'last_row', ...tableOptions },
        isDefaultMergeMode: tableOptions['merge_mode'] === undefined && tableOptions['append_mode'] === undefined,
        timeType: TIME_TYPE,
      },
      replies: new OpentsdbReplies(detailOf(context)),
    };
  };
}

function detailOf({ query }: RequestContext): Detail {
  if (query.has('details')) return 'details';
  return query.has('summary') ? 'summary' : 'none';
}
