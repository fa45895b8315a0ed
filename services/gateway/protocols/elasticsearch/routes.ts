import type { Config } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';

import type { PipelineLibrary } from '../../pipelines/library.js';
import type { RequestContext } from '../../request-context.js';
import { appendWriteOptions } from '../common/append-write.js';
import { DatabaseCaches } from '../common/cache-memory.js';
import { DocumentRows } from '../common/document-rows.js';
import { ENCODINGS } from '../common/encodings.js';
import { JsonTape } from '../common/json-tape.js';
import { PipelineDocuments } from '../common/pipeline/documents.js';
import { pipelineFor, withPipelineName } from '../common/pipeline/name.js';
import { isIdentityName, openPipeline, type OpenPipeline } from '../common/pipeline/open.js';
import { PipelineSink, sinkDecoding } from '../common/pipeline/sink.js';
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
import {
  ELASTICSEARCH_BULK_DOC,
  ELASTICSEARCH_HEALTH_DOC,
  ELASTICSEARCH_INDEX_BULK_DOC,
  ELASTICSEARCH_LICENSE_DOC,
  ELASTICSEARCH_START_UP_DOC,
  ELASTICSEARCH_VERSION_DOC,
} from './doc.js';
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
  readonly pipeline?: OpenPipeline;
}

/** Opens the routes of Elasticsearch. */
export function elasticsearchRoutes({ config, memory, pipelines }: ProtocolDeps): ProtocolRoutes {
  const caches = new DatabaseCaches(memory, (it) => new TagSeriesCache(it));
  const decode = (input: DecodeInput, options: ElasticsearchOptions): Decoding => {
    const { bytes, nowNs, batches, tables } = input;
    const { write, index, messageField, replies, pipeline } = options;
    if (pipeline !== undefined) {
      const sink = new PipelineSink(input, { ...pipeline, write }, caches.of(write.database), 'tree');
      const documents = new PipelineDocuments(sink, { hasTime: false, levelsMax: 1 });
      replies.decoder = new BulkDecoder(bytes, documents, { index, messageField, nowNs });
      return sinkDecoding(replies.decoder, sink);
    }
    const rows = new DocumentRows(batches, { tables, series: caches.of(write.database), tape: new JsonTape() });
    replies.decoder = new BulkDecoder(bytes, rows, { index, messageField, nowNs });
    return replies.decoder;
  };
  const bulk = {
    encodings: ENCODINGS,
    partialSuccess: true,
    needsTables: true,
    options: bulkOptions(config, pipelines),
    decode,
    replies: new BulkReplies(),
  };
  const plain = (path: string, reply: PlainRoute['reply']): PlainRoute => {
    return { kind: 'plain', methods: ['GET', 'POST', 'PUT'], path, reply, doc: ELASTICSEARCH_START_UP_DOC };
  };
  return {
    prefixes: [PREFIX],
    routes: [
      ingestRoute({ path: `/${BULK}`, ...bulk, doc: ELASTICSEARCH_BULK_DOC }),
      ingestRoute({ path: `/:index/${BULK}`, ...bulk, doc: ELASTICSEARCH_INDEX_BULK_DOC }),
      { kind: 'plain', methods: ['GET'], path: '', reply: versionReply, doc: ELASTICSEARCH_VERSION_DOC },
      { kind: 'plain', methods: ['GET'], path: '/_license', reply: licenseReply, doc: ELASTICSEARCH_LICENSE_DOC },
      {
        kind: 'plain',
        methods: ['GET'],
        path: '/_cluster/health',
        reply: clusterHealthReply,
        doc: ELASTICSEARCH_HEALTH_DOC,
      },
      ...START_UP_PATHS.map((path) => plain(`/${path}{/*rest}`, emptyReply)),
    ],
  };
}

function bulkOptions(
  config: Config,
  pipelines: PipelineLibrary,
): (context: RequestContext, call: Call) => ElasticsearchOptions | Promise<ElasticsearchOptions> {
  return (context, call) => {
    const options: ElasticsearchOptions = {
      write: { ...appendWriteOptions(context, config, pipelines.timeColumn), widensIntegers: true },
      index: indexOfPath(context.path),
      messageField: context.query.get('msg_field') ?? undefined,
      replies: new BulkReplies(),
    };
    const target = { database: options.write.database, table: options.index ?? '' };
    const naming = { parameter: 'pipeline_name', prefersParameter: true };
    return withPipelineName(pipelineFor(context, target, pipelines, call, naming), async (name) => {
      if (name === undefined || isIdentityName(name)) return options;
      const pipeline = await openPipeline(context, name, pipelines, call);
      const { parameters, pipelines: opened } = pipeline;
      // Documents fail one by one, and the reply has a status for each, unless they are stored.
      const onError = (parameters.onError ?? opened.root.extras.onError) === 'store' ? 'store' : 'fail';
      return { ...options, pipeline: { ...pipeline, parameters: { ...parameters, onError } } };
    });
  };
}

function indexOfPath(path: string): string | undefined {
  const [index, bulk] = path.slice(PREFIX.length + 1).split('/');
  return bulk === BULK ? decodeURIComponent(index) : undefined;
}
