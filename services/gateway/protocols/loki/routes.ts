import type { Config } from '#shared/config/schema';

import { mediaTypeOf } from '../../media-type.js';
import type { RequestContext } from '../../request-context.js';
import { appendWriteOptions, timeColumnOf } from '../common/append-write.js';
import { DatabaseCaches } from '../common/cache-memory.js';
import { ENCODINGS } from '../common/encodings.js';
import { checkPipeline } from '../common/pipeline.js';
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
import { lokiReplies, readyReply } from './replies.js';
import { LokiRows } from './rows.js';

const DEFAULT_TABLE = 'loki_logs';
const JSON_TYPE = 'application/json';

/** Some clients name the encoding of protobuf bodies also for JSON. */
const JSON_BODIES: AcceptedEncodings = { encodings: ENCODINGS, ignoredEncoding: 'snappy' };
const PROTOBUF_BODIES: AcceptedEncodings = { encodings: ['snappy'], impliedEncoding: 'snappy' };

interface LokiOptions extends IngestOptions {
  readonly isJson: boolean;
  readonly table: string;
}

/** Opens the routes of the Loki push API. */
export function lokiRoutes({ config, memory }: ProtocolDeps): ProtocolRoutes {
  const timeColumn = timeColumnOf(config);
  const series = new DatabaseCaches(memory, (it) => new TagSeriesCache(it));
  const decode = ({ bytes, batches }: DecodeInput, { isJson, table, write }: LokiOptions): Decoding => {
    const rows = new LokiRows(batches, { table, timeColumn, series: series.of(write.database) });
    return isJson ? new LokiJsonDecoder(bytes, rows) : new LokiProtobufDecoder(bytes, rows);
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
          options: lokiOptions(config, timeColumn),
          decode,
          replies: lokiReplies,
        }),
      ),
      { kind: 'plain', methods: ['GET'], path: '/ready', reply: readyReply },
    ],
  };
}

function lokiOptions(config: Config, timeColumn: string): (context: RequestContext) => LokiOptions {
  return (context) => {
    checkPipeline(context);
    const isJson = mediaTypeOf(context.request.headers['content-type']) === JSON_TYPE;
    return {
      write: appendWriteOptions(context, config, timeColumn),
      accepted: isJson ? JSON_BODIES : PROTOBUF_BODIES,
      isJson,
      table: context.productHeader('log-table-name') ?? DEFAULT_TABLE,
    };
  };
}
