import { AlmanacError } from '#shared/errors/almanac-error';
import { checkTableName } from '#shared/schema/names';

import { mediaTypeOf } from '../../media-type.js';
import type { RequestContext } from '../../request-context.js';
import { appendWriteOptions } from '../common/append-write.js';
import { DatabaseCaches } from '../common/cache-memory.js';
import { ENCODINGS } from '../common/encodings.js';
import { BODY_TYPES, type BodyType } from '../common/pipeline/body-items.js';
import { PipelineDecoder, type PipelineRequest } from '../common/pipeline/decoder.js';
import { requiredPipeline } from '../common/pipeline/name.js';
import { openPipeline } from '../common/pipeline/open.js';
import { TagSeriesCache } from '../common/tag-series.js';
import {
  ingestRoute,
  type DecodeInput,
  type Decoding,
  type IngestOptions,
  type ProtocolDeps,
  type ProtocolRoutes,
} from '../protocol.js';
import type { Call } from '#shared/contracts/call';
import { INGEST_DOC } from './doc.js';
import { IngestPipelineReplies } from './replies.js';

interface IngestPipelineOptions extends IngestOptions, PipelineRequest {
  readonly replies: IngestPipelineReplies;
}

/** Opens the routes of writes through pipelines. */
export function ingestRoutes({ config, memory, pipelines }: ProtocolDeps): ProtocolRoutes {
  const series = new DatabaseCaches(memory, (it) => new TagSeriesCache(it));
  const options = async (context: RequestContext, call: Call): Promise<IngestPipelineOptions> => {
    const table = context.query.get('table') ?? '';
    if (table === '') throw new AlmanacError('invalid_arguments', 'Invalid request parameter: table is required');
    checkTableName(table);
    const write = appendWriteOptions(context, config, pipelines.timeColumn);
    const name = await requiredPipeline(context, { database: write.database, table }, pipelines, call);
    const type = bodyType(context);
    return {
      write,
      ...(await openPipeline(context, name, pipelines, call)),
      type,
      table,
      replies: new IngestPipelineReplies(),
    };
  };
  const decode = (input: DecodeInput, request: IngestPipelineOptions): Decoding => {
    const decoder = new PipelineDecoder(input, request, series.of(request.write.database));
    request.replies.decoder = decoder;
    return decoder;
  };
  const route = {
    encodings: ENCODINGS,
    partialSuccess: true,
    needsTables: true,
    options,
    decode,
    replies: new IngestPipelineReplies(),
    doc: INGEST_DOC,
  };
  return {
    prefixes: ['/v1'],
    routes: ['/ingest', '/events/logs'].map((path) => ingestRoute({ path, ...route })),
  };
}

function bodyType({ request }: RequestContext): BodyType {
  const given = request.headers['content-type'];
  const type = BODY_TYPES.find((it) => it === mediaTypeOf(given));
  if (type !== undefined) return type;
  throw new AlmanacError(
    'invalid_arguments',
    `Invalid request parameter: invalid content type: ${given ?? ''}, expected: one of ${BODY_TYPES.join(', ')}`,
  );
}
