import type { Config } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';

import type { RouteDoc } from '../../openapi/route-doc.js';
import type { PipelineLibrary } from '../../pipelines/library.js';
import type { HttpReply } from '../../reply.js';
import { jsonReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import { appendWriteOptions, timeColumnOf } from '../common/append-write.js';
import { DatabaseCaches } from '../common/cache-memory.js';
import { DocumentRows } from '../common/document-rows.js';
import { ENCODINGS } from '../common/encodings.js';
import { JsonTape } from '../common/json-tape.js';
import { isJsonObject, parseJson, type JsonValue } from '../common/json.js';
import type { DocumentTarget } from '../common/document-target.js';
import { PipelineDocuments } from '../common/pipeline/documents.js';
import { isIdentityName, openPipeline, type OpenPipeline } from '../common/pipeline/open.js';
import { pipelineFor, withPipelineName } from '../common/pipeline/name.js';
import { PipelineSink, sinkDecoding } from '../common/pipeline/sink.js';
import { RejectedRows } from '../common/rejected-rows.js';
import { TagSeriesCache } from '../common/tag-series.js';
import {
  ingestRoute,
  type DecodeInput,
  type Decoding,
  type IngestOptions,
  type IngestReplies,
  type IngestRoute,
  type ProtocolDeps,
  type ProtocolRoutes,
} from '../protocol.js';
import { AckChannels, checkChannel } from './channels.js';
import { splunkError } from './codes.js';
import { SPLUNK_ACK_DOC, SPLUNK_EVENT_DOC, SPLUNK_HEALTH_DOC, SPLUNK_RAW_DOC } from './doc.js';
import { EventDecoder, ORIGIN_TAGS, tableOfIndex } from './decode-events.js';
import { RawDecoder } from './decode-raw.js';
import { readEventTime } from './event-time.js';
import { splunkHealth, SplunkReplies } from './replies.js';

const DEFAULT_TABLE = 'splunk_logs';
const TABLE_NAME = /^[a-zA-Z_:-][a-zA-Z0-9_:\-.@#]*$/;
const FORMS_OF_CREDENTIALS = /^(?:Splunk|Basic|Bearer)\s+\S/i;
const ACKS_MAX = 10_000;

const ROOT = '/services/collector';

/** Options of one request with events. */
interface SplunkOptions extends IngestOptions {
  readonly table: string;
  readonly query: URLSearchParams;
  readonly pipeline?: OpenPipeline;
}

/** Opens the routes of the event collector. */
export function splunkRoutes({ config, memory, pipelines }: ProtocolDeps): ProtocolRoutes {
  const timeColumn = timeColumnOf(config);
  const channels = new AckChannels();
  const caches = new DatabaseCaches(memory, (it) => new TagSeriesCache(it));
  const decode = (make: DecoderMaker, input: DecodeInput, options: SplunkOptions): Decoding => {
    const { write, pipeline } = options;
    const { batches, tables } = input;
    const series = caches.of(write.database);
    if (pipeline === undefined) {
      return make(new DocumentRows(batches, { tables, series, tape: new JsonTape({ level: 0 }) }), input, options);
    }
    const sink = new PipelineSink(input, { ...pipeline, write }, series, 'tree');
    return sinkDecoding(make(new PipelineDocuments(sink, { hasTime: true, levelsMax: 1 }), input, options), sink);
  };
  const events: DecoderMaker = (rows, { bytes, nowNs }, { table }) => {
    return new EventDecoder(bytes, rows, { table, timeColumn, nowNs });
  };
  const raw: DecoderMaker = (rows, input, { query, table, pipeline }) => {
    const lineBreaker = query.get('linebreaker') ?? '';
    return new RawDecoder(input.bytes, rows, {
      table: tableOfIndex(query.get('index') ?? '') ?? table,
      tags: ORIGIN_TAGS.map((name) => [name, query.get(name) ?? ''] as const),
      timeNs: timeOf(query.get('time'), input.nowNs),
      lineBreaker: lineBreaker === '' ? undefined : lineBreaker,
      multiline: pipeline?.pipelines.root.extras.multiline,
    });
  };
  const write = (path: string, make: DecoderMaker, doc: RouteDoc): IngestRoute =>
    ingestRoute({
      path: ROOT + path,
      encodings: ENCODINGS,
      partialSuccess: false,
      needsTables: true,
      options: splunkOptions(config, pipelines, channels),
      decode: (input, options: SplunkOptions) => decode(make, input, options),
      replies: new SplunkReplies(),
      doc,
    });
  return {
    prefixes: ['/v1/eventcollector', '/v1/splunk'],
    routes: [
      ...['', '/event', '/event/1.0'].map((path) => write(path, events, SPLUNK_EVENT_DOC)),
      ...['/raw', '/raw/1.0'].map((path) => write(path, raw, SPLUNK_RAW_DOC)),
      ...['/health', '/health/1.0'].map((path) => {
        return {
          kind: 'plain',
          methods: ['GET'],
          path: ROOT + path,
          reply: splunkHealth,
          doc: SPLUNK_HEALTH_DOC,
        } as const;
      }),
      ackRoute(config, timeColumn, channels),
    ],
  };
}

type DecoderMaker = (rows: DocumentTarget, input: DecodeInput, options: SplunkOptions) => Decoding;

function splunkOptions(
  config: Config,
  pipelines: PipelineLibrary,
  channels: AckChannels,
): (context: RequestContext, call: Call) => SplunkOptions | Promise<SplunkOptions> {
  return (context, call) => {
    checkCredentials(context);
    const { query } = context;
    const table = query.get('table') ?? '';
    if (table !== '' && !TABLE_NAME.test(table)) throw splunkError(7);
    const channel = channelOf(context);
    const options: SplunkOptions = {
      write: { ...appendWriteOptions(context, config, pipelines.timeColumn), widensIntegers: true },
      table: table === '' ? DEFAULT_TABLE : table,
      query,
      replies: new SplunkReplies(() => (channel === undefined ? {} : { ackId: channels.add(channel) })),
    };
    const target = { database: options.write.database, table: options.table };
    // Of the event collector the parameter takes precedence.
    const naming = { parameter: 'pipeline_name', prefersParameter: true };
    return withPipelineName(pipelineFor(context, target, pipelines, call, naming), (name) => {
      if (name === undefined || isIdentityName(name)) return options;
      return openPipeline(context, name, pipelines, call).then((pipeline) => ({ ...options, pipeline }));
    });
  };
}

/** Any credentials of a known form are accepted. @throws an error with a code of the event collector. */
function checkCredentials({ request, query }: RequestContext): void {
  const { authorization } = request.headers;
  if (authorization !== undefined && !FORMS_OF_CREDENTIALS.test(authorization)) throw splunkError(3);
  if (query.has('token')) throw splunkError(16);
}

/** Returns the channel of a request, if it has one. */
function channelOf({ request, query }: RequestContext): string | undefined {
  const named = request.headers['x-splunk-request-channel'] ?? query.get('channel') ?? '';
  if (named === '' || typeof named !== 'string') return undefined;
  checkChannel(named);
  return named.toLowerCase();
}

function timeOf(text: string | null, nowNs: bigint): bigint {
  if (text === null || text === '') return nowNs;
  const time = readEventTime(text);
  if (time === undefined) throw splunkError(6);
  return time;
}

interface AckOptions extends IngestOptions {
  readonly reply: AckReplies;
}

/** The request for acknowledgements has a body, so it is a write of no rows. */
function ackRoute(config: Config, timeColumn: string, channels: AckChannels): IngestRoute {
  return ingestRoute<AckOptions>({
    path: `${ROOT}/ack`,
    encodings: ENCODINGS,
    partialSuccess: false,
    options: (context) => {
      checkCredentials(context);
      const channel = channelOf(context);
      if (channel === undefined) throw splunkError(10);
      const reply = new AckReplies(channels, channel);
      return { write: appendWriteOptions(context, config, timeColumn), replies: reply, reply };
    },
    decode: ({ bytes }, { reply }) => {
      reply.ids = acksOf(parseJson(bytes));
      return { rejected: new RejectedRows(), decode: () => true };
    },
    replies: new SplunkReplies(),
    doc: SPLUNK_ACK_DOC,
  });
}

class AckReplies extends SplunkReplies implements IngestReplies {
  ids: readonly number[] = [];
  readonly #channels: AckChannels;
  readonly #channel: string;

  constructor(channels: AckChannels, channel: string) {
    super();
    this.#channels = channels;
    this.#channel = channel;
  }

  override success(): HttpReply {
    return jsonReply(200, { acks: this.#channels.take(this.#channel, this.ids) });
  }
}

function acksOf(body: JsonValue): number[] {
  const acks = isJsonObject(body) ? body['acks'] : undefined;
  const isList = Array.isArray(acks) && acks.length <= ACKS_MAX;
  if (!isList || !acks.every((id) => Number.isSafeInteger(id))) throw splunkError(6);
  return acks as number[];
}
