import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../../request-context.js';

/** Names of the pipeline that stores JSON documents as they are. */
const IDENTITY = ['almanac_identity', 'greptime_identity'];

/** Returns the pipeline of a request: of the query parameter, else of the headers; undefined if none is named. */
export function pipelineOf(context: RequestContext, parameter?: string): string | undefined {
  const named = [
    parameter === undefined ? undefined : (context.query.get(parameter) ?? undefined),
    context.productHeader('pipeline-name'),
    context.productHeader('log-pipeline-name'),
  ];
  return named.find((name) => name !== undefined && name.trim() !== '')?.trim();
}

/**
 * Checks the pipeline of a request that may be named in `parameter`.
 *
 * @param builtIn pipelines that the route has anyway.
 * @throws `unsupported` for any other pipeline.
 */
export function checkPipeline(context: RequestContext, builtIn: readonly string[] = [], parameter?: string): void {
  const pipeline = pipelineOf(context, parameter);
  if (pipeline === undefined || builtIn.includes(pipeline)) return;
  const allowed = builtIn.length === 0 ? 'send no pipeline name' : `use one of ${builtIn.join(', ')}`;
  throw new AlmanacError('unsupported', `pipeline "${pipeline}" is not supported here: ${allowed}`);
}

/** The check of routes that store JSON documents. */
export function checkIdentityPipeline(context: RequestContext, parameter: string): void {
  checkPipeline(context, IDENTITY, parameter);
}
