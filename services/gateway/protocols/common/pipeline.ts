import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../../request-context.js';

/** The pipeline that stores JSON documents as they are. */
const IDENTITY = new Set(['almanac_identity', 'greptime_identity']);

/**
 * Checks the pipeline that a request names.
 *
 * @param parameter query parameter that names it, on routes that store JSON documents as the identity pipeline does.
 * @throws `unsupported` for any other pipeline.
 */
export function checkPipeline(context: RequestContext, parameter?: string): void {
  const given = parameter === undefined ? undefined : (context.query.get(parameter) ?? undefined);
  const names = [given, context.productHeader('pipeline-name'), context.productHeader('log-pipeline-name')];
  const pipeline = names.find((name) => name !== undefined && name.trim() !== '')?.trim();
  if (pipeline === undefined || (parameter !== undefined && IDENTITY.has(pipeline))) return;
  throw new AlmanacError('unsupported', `pipeline "${pipeline}" is not supported here: send no pipeline name`);
}
