import type { Call } from '#shared/contracts/call';

import type { RequestContext } from '../../../request-context.js';
import { appendWriteOptions } from '../../common/append-write.js';
import type { DatabaseCaches } from '../../common/cache-memory.js';
import { ENCODINGS } from '../../common/encodings.js';
import { pipelineFor, withPipelineName } from '../../common/pipeline/name.js';
import { openPipeline, type OpenPipeline } from '../../common/pipeline/open.js';
import { PipelineSink, sinkDecoding } from '../../common/pipeline/sink.js';
import type { TagSeriesCache } from '../../common/tag-series.js';
import {
  ingestRoute,
  type DecodeInput,
  type Decoding,
  type IngestOptions,
  type IngestRoute,
  type ProtocolDeps,
} from '../../protocol.js';
import { checkContentType, isJsonRequest } from '../body-form.js';
import { OTLP_LOGS_DOC } from '../doc.js';
import type { JsonWorker } from '../json-worker.js';
import { otlpReplies } from '../replies.js';
import { LOG_TABLE_COLUMNS, LOG_TIME } from './columns.js';
import { LogDecoder } from './decode.js';
import { ExtractedKeys, extractedNames } from './extracted-keys.js';
import { LogItemDecoder } from './items.js';

const DEFAULT_TABLE = 'opentelemetry_logs';

interface LogOptions extends IngestOptions {
  readonly isJson: boolean;
  readonly table: string;
  readonly extracted: readonly string[];
  readonly pipeline?: OpenPipeline;
}

/** Opens `POST /v1/logs`. */
export function logsRoute(
  { config, pipelines }: Pick<ProtocolDeps, 'config' | 'pipelines'>,
  series: DatabaseCaches<TagSeriesCache>,
  json: JsonWorker,
): IngestRoute {
  const options = (context: RequestContext, call: Call): LogOptions | Promise<LogOptions> => {
    checkContentType(context);
    const direct: LogOptions = {
      write: { ...appendWriteOptions(context, config, LOG_TIME), columns: LOG_TABLE_COLUMNS },
      isJson: isJsonRequest(context),
      table: context.productHeader('log-table-name') ?? DEFAULT_TABLE,
      extracted: extractedNames(context.productHeader('log-extract-keys')),
    };
    const target = { database: direct.write.database, table: direct.table };
    return withPipelineName(pipelineFor(context, target, pipelines, call), (name) => {
      if (name === undefined) return direct;
      const write = appendWriteOptions(context, config, pipelines.timeColumn);
      return openPipeline(context, name, pipelines, call).then((pipeline) => ({ ...direct, write, pipeline }));
    });
  };
  const decode = (input: DecodeInput, request: LogOptions): Decoding => {
    const { bytes, nowNs, batches, tables } = input;
    const { table, write, extracted, pipeline } = request;
    if (pipeline !== undefined) {
      const sink = new PipelineSink(input, { ...pipeline, write }, series.of(write.database), 'tree');
      return sinkDecoding(new LogItemDecoder(bytes, sink, table), sink);
    }
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
    doc: OTLP_LOGS_DOC,
  });
}
