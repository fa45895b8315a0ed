import type { Config } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';

import type { PipelineLibrary } from '../../pipelines/library.js';
import { mediaTypeOf } from '../../media-type.js';
import type { RequestContext } from '../../request-context.js';
import { appendWriteOptions, timeColumnOf } from '../common/append-write.js';
import { DatabaseCaches } from '../common/cache-memory.js';
import { ENCODINGS } from '../common/encodings.js';
import { pipelineFor, withPipelineName } from '../common/pipeline/name.js';
import { openPipeline, type OpenPipeline } from '../common/pipeline/open.js';
import { PipelineSink, sinkDecoding } from '../common/pipeline/sink.js';
import { TagSeriesCache } from '../common/tag-series.js';
import {
  ingestRoute,
  type AcceptedEncodings,
  type DecodeInput,
  type Decoding,
  type IngestOptions,
  type ProtocolDeps,
  type ProtocolRoutes,
} from '../protocol.js';
import { LokiJsonDecoder } from './decode-json.js';
import { LokiProtobufDecoder } from './decode-protobuf.js';
import { LOKI_PUSH_DOC, LOKI_READY_DOC } from './doc.js';
import { lokiReplies, readyReply } from './replies.js';
import { LokiItems } from './items.js';
import { LokiRows, type LokiEntries } from './rows.js';

const DEFAULT_TABLE = 'loki_logs';
const JSON_TYPE = 'application/json';

/** Some clients name the encoding of protobuf bodies also for JSON. */
const JSON_BODIES: AcceptedEncodings = { encodings: ENCODINGS, ignoredEncoding: 'snappy' };
const PROTOBUF_BODIES: AcceptedEncodings = { encodings: ['snappy'], impliedEncoding: 'snappy' };

interface LokiOptions extends IngestOptions {
  readonly isJson: boolean;
  readonly table: string;
  readonly pipeline?: OpenPipeline;
}

/** Opens the routes of the Loki push API. */
export function lokiRoutes({ config, memory, pipelines }: ProtocolDeps): ProtocolRoutes {
  const timeColumn = timeColumnOf(config);
  const series = new DatabaseCaches(memory, (it) => new TagSeriesCache(it));
  const decode = (input: DecodeInput, { isJson, table, write, pipeline }: LokiOptions): Decoding => {
    const { bytes, batches } = input;
    const known = series.of(write.database);
    const decoder = (entries: LokiEntries): Decoding =>
      isJson ? new LokiJsonDecoder(bytes, entries) : new LokiProtobufDecoder(bytes, entries);
    if (pipeline === undefined) return decoder(new LokiRows(batches, { table, timeColumn, series: known }));
    const sink = new PipelineSink(input, { ...pipeline, write }, known, 'tree');
    return sinkDecoding(decoder(new LokiItems(sink, table)), sink);
  };
  return {
    prefixes: ['/v1/logpush', '/v1/loki'],
    routes: [
      // Agents append the second path to the URL that users enter.
      ...['/api/v1/push', '/loki/api/v1/push'].map((path) =>
        ingestRoute({
          path,
          ...PROTOBUF_BODIES,
          partialSuccess: false,
          options: lokiOptions(config, timeColumn, pipelines),
          decode,
          replies: lokiReplies,
          doc: LOKI_PUSH_DOC,
        }),
      ),
      { kind: 'plain', methods: ['GET'], path: '/ready', reply: readyReply, doc: LOKI_READY_DOC },
    ],
  };
}

function lokiOptions(
  config: Config,
  timeColumn: string,
  pipelines: PipelineLibrary,
): (context: RequestContext, call: Call) => LokiOptions | Promise<LokiOptions> {
  return (context, call) => {
    const isJson = mediaTypeOf(context.request.headers['content-type']) === JSON_TYPE;
    const options: LokiOptions = {
      write: appendWriteOptions(context, config, timeColumn),
      accepted: isJson ? JSON_BODIES : PROTOBUF_BODIES,
      isJson,
      table: context.productHeader('log-table-name') ?? DEFAULT_TABLE,
    };
    const target = { database: options.write.database, table: options.table };
    return withPipelineName(pipelineFor(context, target, pipelines, call), async (name) => {
      if (name === undefined) return options;
      const pipeline = await openPipeline(context, name, pipelines, call, { usesItemTime: true });
      return { ...options, pipeline, needsTables: true };
    });
  };
}
