import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../../request-context.js';

/** Refuses a request that names a pipeline. @throws `unsupported`. */
export function refusePipeline(context: RequestContext): void {
  const names = [context.productHeader('pipeline-name'), context.productHeader('log-pipeline-name')];
  const pipeline = names.find((name) => name !== undefined && name.trim() !== '')?.trim();
  if (pipeline === undefined) return;
  throw new AlmanacError('unsupported', `pipeline "${pipeline}" is not supported here: send no pipeline name`);
}
