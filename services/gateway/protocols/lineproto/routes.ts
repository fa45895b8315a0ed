import { DatabaseCaches } from '../common/cache-memory.js';
import { ENCODINGS } from '../common/encodings.js';
import { ingestRoute, type DecodeInput, type Decoding, type ProtocolDeps, type ProtocolRoutes } from '../protocol.js';
import { LineDecoder } from './decode.js';
import { INFLUX_HEALTH_DOC, PING_DOC, WRITE_V1_DOC, WRITE_V2_DOC } from './doc.js';
import { LineCache } from './line-cache.js';
import { lineprotoOptions, type LineprotoOptions } from './options.js';
import { influxHealth, ping } from './ping.js';
import { repliesV1, repliesV2 } from './replies.js';

/** Opens the routes of line protocol. @param mergeMode of tables that it creates. */
export function lineprotoRoutes(mergeMode: string, { config, memory }: ProtocolDeps): ProtocolRoutes {
  const caches = new DatabaseCaches(memory, (it) => new LineCache(it));
  const decode = ({ bytes, nowNs, batches, fieldTypes }: DecodeInput, options: LineprotoOptions): Decoding => {
    const { precision, write } = options;
    return new LineDecoder(bytes, { precision, nowNs, fieldTypes }, caches.of(write.database), batches);
  };
  return {
    prefixes: ['/v1/lineproto', '/v1/influxdb'],
    routes: [
      ingestRoute({
        path: '/write',
        encodings: ENCODINGS,
        partialSuccess: true,
        options: lineprotoOptions('v1', config, mergeMode),
        decode,
        replies: repliesV1,
        doc: WRITE_V1_DOC,
      }),
      ingestRoute({
        path: '/api/v2/write',
        encodings: ENCODINGS,
        partialSuccess: false,
        options: lineprotoOptions('v2', config, mergeMode),
        decode,
        replies: repliesV2,
        doc: WRITE_V2_DOC,
      }),
      { kind: 'plain', methods: ['GET'], path: '/ping', reply: ping, doc: PING_DOC },
      { kind: 'plain', methods: ['GET'], path: '/health', reply: influxHealth, doc: INFLUX_HEALTH_DOC },
    ],
  };
}
