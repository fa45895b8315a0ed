import type { Config } from '#shared/config/schema';

import type { RequestContext } from '../../request-context.js';
import { appendWriteOptions, timeColumnOf } from '../common/append-write.js';
import { DatabaseCaches } from '../common/cache-memory.js';
import { DocumentRows } from '../common/document-rows.js';
import { ENCODINGS } from '../common/encodings.js';
import { JsonTape } from '../common/json-tape.js';
import { checkPipeline } from '../common/pipeline.js';
import { TagSeriesCache } from '../common/tag-series.js';
import {
  ingestRoute,
  type DecodeInput,
  type Decoding,
  type IngestOptions,
  type PlainRoute,
  type ProtocolDeps,
  type ProtocolRoutes,
} from '../protocol.js';
import { BulkDecoder } from './decode.js';
import { BulkReplies, clusterHealthReply, emptyReply, licenseReply, versionReply } from './replies.js';

const PREFIX = '/v1/elasticsearch';
const BULK = '_bulk';
/** What agents call when they start; in the syntax of Express. */
const START_UP_PATHS = [
  '_alias',
  '_component_template',
  '_data_stream',
  '_ilm/policy',
  '_index_template',
  '_ingest',
  '_logstash',
  '_nodes',
  '_template',
  '_xpack',
  'logstash',
];

interface ElasticsearchOptions extends IngestOptions {
  readonly index: string | undefined;
  readonly messageField: string | undefined;
  readonly replies: BulkReplies;
}

/** Opens the routes of Elasticsearch. */
export function elasticsearchRoutes({ config, memory }: ProtocolDeps): ProtocolRoutes {
  const caches = new DatabaseCaches(memory, (it) => new TagSeriesCache(it));
  const decode = ({ bytes, nowNs, batches, tables }: DecodeInput, options: ElasticsearchOptions): Decoding => {
    const { write, index, messageField, replies } = options;
    const rows = new DocumentRows(batches, { tables, series: caches.of(write.database), tape: new JsonTape() });
    replies.decoder = new BulkDecoder(bytes, rows, { index, messageField, nowNs });
    return replies.decoder;
  };
  const bulk = {
    encodings: ENCODINGS,
    partialSuccess: true,
    needsTables: true,
    options: bulkOptions(config),
    decode,
    replies: new BulkReplies(),
  };
  const plain = (path: string, reply: PlainRoute['reply']): PlainRoute => {
    return { kind: 'plain', methods: ['GET', 'POST', 'PUT'], path, reply };
  };
  return {
    prefixes: [PREFIX],
    routes: [
      ...[`/${BULK}`, `/:index/${BULK}`].map((path) => ingestRoute({ path, ...bulk })),
      { kind: 'plain', methods: ['GET'], path: '', reply: versionReply },
      { kind: 'plain', methods: ['GET'], path: '/_license', reply: licenseReply },
      { kind: 'plain', methods: ['GET'], path: '/_cluster/health', reply: clusterHealthReply },
      ...START_UP_PATHS.map((path) => plain(`/${path}{/*rest}`, emptyReply)),
    ],
  };
}

function bulkOptions(config: Config): (context: RequestContext) => ElasticsearchOptions {
  const timeColumn = timeColumnOf(config);
  return (context) => {
    checkPipeline(context, 'pipeline_name');
    return {
      write: { ...appendWriteOptions(context, config, timeColumn), widensIntegers: true },
      index: indexOfPath(context.path),
      messageField: context.query.get('msg_field') ?? undefined,
      replies: new BulkReplies(),
    };
  };
}

function indexOfPath(path: string): string | undefined {
  const [index, bulk] = path.slice(PREFIX.length + 1).split('/');
  return bulk === BULK ? decodeURIComponent(index) : undefined;
}
