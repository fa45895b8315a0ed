import type { Config } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { MetricNames } from '#shared/schema/metric-table';

import type { RequestContext } from '../../request-context.js';
import { metricWrite } from '../common/metric-write.js';
import type { IngestOptions } from '../protocol.js';
import { RemoteWriteReplies } from './replies.js';

/** Options of one remote write request. */
export interface RemoteWriteOptions extends IngestOptions {
  readonly version: 1 | 2;
  /** Physical table of series whose labels name none. */
  readonly defaultTable: string;
  readonly replies: RemoteWriteReplies;
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
): (context: RequestContext) => RemoteWriteOptions {
  return (context) => {
    refusePipeline(context);
    const { write, defaultTable } = metricWrite(context, config, names);
    return { write, version: versionOf(context), defaultTable, replies: new RemoteWriteReplies() };
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

function refusePipeline(context: RequestContext): void {
  const pipeline = context.productHeader('pipeline-name') ?? context.productHeader('log-pipeline-name');
  if (pipeline === undefined) return;
  throw new AlmanacError('unsupported', 'pipelines are not supported on Prometheus remote write');
}
