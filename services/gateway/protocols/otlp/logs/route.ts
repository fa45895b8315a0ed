import type { Config } from '#shared/config/schema';

import type { RequestContext } from '../../../request-context.js';
import { appendWriteOptions } from '../../common/append-write.js';
import type { DatabaseCaches } from '../../common/cache-memory.js';
import { ENCODINGS } from '../../common/encodings.js';
import { checkPipeline } from '../../common/pipeline.js';
import type { TagSeriesCache } from '../../common/tag-series.js';
import { ingestRoute, type DecodeInput, type Decoding, type IngestOptions, type IngestRoute } from '../../protocol.js';
import { checkContentType, isJsonRequest } from '../body-form.js';
import type { JsonWorker } from '../json-worker.js';
import { otlpReplies } from '../replies.js';
import { LOG_TABLE_COLUMNS, LOG_TIME } from './columns.js';
import { LogDecoder } from './decode.js';
import { ExtractedKeys, extractedNames } from './extracted-keys.js';

const DEFAULT_TABLE = 'opentelemetry_logs';

interface LogOptions extends IngestOptions {
  readonly isJson: boolean;
  readonly table: string;
  readonly extracted: readonly string[];
}

/** Opens `POST /v1/logs`. */
export function logsRoute(config: Config, series: DatabaseCaches<TagSeriesCache>, json: JsonWorker): IngestRoute {
  const options = (context: RequestContext): LogOptions => {
    checkContentType(context);
    checkPipeline(context);
    return {
      write: { ...appendWriteOptions(context, config, LOG_TIME), columns: LOG_TABLE_COLUMNS },
      isJson: isJsonRequest(context),
      table: context.productHeader('log-table-name') ?? DEFAULT_TABLE,
      extracted: extractedNames(context.productHeader('log-extract-keys')),
    };
  };
  const decode = ({ bytes, nowNs, batches, tables }: DecodeInput, request: LogOptions): Decoding => {
    const { table, write, extracted } = request;
    const existing = tables.find(({ name }) => name === table);
    return new LogDecoder(bytes, batches, {
      table,
      nowNs,
      series: series.of(write.database),
      extracted: extracted.length === 0 ? undefined : new ExtractedKeys(extracted, existing),
    });
  };
  return ingestRoute({
    path: '/v1/logs',
    encodings: ENCODINGS,
    partialSuccess: true,
    needsTables: true,
    options,
    convert: (bytes, { isJson }) => (isJson ? json.convert(bytes, 'logs') : bytes),
    decode,
    replies: otlpReplies('rejectedLogRecords'),
  });
}
