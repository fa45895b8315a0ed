import type { Config } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { MetricNames } from '#shared/schema/metric-table';

import type { PipelineLibrary } from '../../pipelines/library.js';
import type { RequestContext } from '../../request-context.js';
import { appendWriteOptions } from '../common/append-write.js';
import { metricWrite } from '../common/metric-write.js';
import { pipelineFor, withPipelineName } from '../common/pipeline/name.js';
import { isIdentityName, openPipeline, type OpenPipeline } from '../common/pipeline/open.js';
import type { IngestOptions } from '../protocol.js';
import { RemoteWriteReplies } from './replies.js';

/** Options of one remote write request. */
export interface RemoteWriteOptions extends IngestOptions {
  readonly version: 1 | 2;
  /** Physical table of series whose labels name none. */
  readonly defaultTable: string;
  readonly replies: RemoteWriteReplies;
  /** Undefined for the metrics as they are, which is what the identity pipeline makes of them. */
  readonly pipeline?: OpenPipeline;
}

const MEDIA_TYPE = 'application/x-protobuf';
const VERSIONS: Readonly<Record<string, 1 | 2>> = {
  'prometheus.writerequest': 1,
  'io.prometheus.write.v2.request': 2,
};

/** Reads the options of a write. @throws `unsupported` for other content types, `invalid_arguments` for a bad hint. */
export function remoteWriteOptions(
  config: Config,
  names: MetricNames,
  pipelines: PipelineLibrary,
): (context: RequestContext, call: Call) => RemoteWriteOptions | Promise<RemoteWriteOptions> {
  return (context, call) => {
    const { write, defaultTable } = metricWrite(context, config, names);
    const options = { write, version: versionOf(context), defaultTable, replies: new RemoteWriteReplies() };
    // Version 2.0 ignores pipelines, as in GreptimeDB.
    if (options.version === 2) return options;
    const target = { database: write.database, table: '' };
    return withPipelineName(pipelineFor(context, target, pipelines, call), async (name) => {
      if (name === undefined || isIdentityName(name)) return options;
      const pipeline = await openPipeline(context, name, pipelines, call);
      return { ...options, write: appendWriteOptions(context, config, names.timeColumn), pipeline, needsTables: true };
    });
  };
}

function versionOf({ request }: RequestContext): 1 | 2 {
  const given = request.headers['content-type'] ?? '';
  if (given === '') return 1;
  const [type, ...parameters] = given.split(';').map((part) => part.trim());
  const proto = parameters.find((parameter) => /^proto\s*=/i.test(parameter));
  const message = proto
    ?.slice(proto.indexOf('=') + 1)
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .toLowerCase();
  const version = message === undefined ? 1 : VERSIONS[message];
  if (type.toLowerCase() === MEDIA_TYPE && version !== undefined) return version;
  const text = `unsupported prometheus remote write content type: ${given}`;
  throw new AlmanacError('unsupported', text, { http: 415 });
}
