import { AlmanacError } from '#shared/errors/almanac-error';

import type { PipelineName } from '../../../pipelines/library.js';
import { parseVersion } from '../../../pipelines/version.js';
import type { RequestContext } from '../../../request-context.js';

/**
 * Returns the pipeline that a request names: by header, else by a query parameter; undefined if it names none.
 *
 * @param parameter query parameter with the name, on routes that have one.
 * @param prefersParameter whether the parameter takes precedence over headers.
 * @throws `invalid_arguments` for a malformed version.
 */
export function pipelineName(
  context: RequestContext,
  parameter?: string,
  prefersParameter = false,
): PipelineName | undefined {
  const given = parameter === undefined ? undefined : context.query.get(parameter);
  const headers = [context.productHeader('pipeline-name'), context.productHeader('log-pipeline-name')];
  const name = firstText(prefersParameter ? [given, ...headers] : [...headers, given]);
  if (name === undefined) return undefined;
  const version = firstText([
    context.query.get('version'),
    context.productHeader('pipeline-version'),
    context.productHeader('log-pipeline-version'),
  ]);
  return { name, version: version === undefined ? undefined : parseVersion(version) };
}

/** Returns the pipeline of a request that must name one. @throws `invalid_arguments`. */
export function requiredPipeline(context: RequestContext): PipelineName {
  const name = pipelineName(context, 'pipeline_name');
  if (name !== undefined) return name;
  throw new AlmanacError('invalid_arguments', 'Invalid request parameter: pipeline_name is required');
}

function firstText(texts: readonly (string | null | undefined)[]): string | undefined {
  return texts.map((text) => text?.trim()).find((text) => text !== undefined && text !== '');
}
