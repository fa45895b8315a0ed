import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { PipelineLibrary, PipelineName } from '../../../pipelines/library.js';
import { parseVersion } from '../../../pipelines/version.js';
import type { RequestContext } from '../../../request-context.js';

/** Where a request names its pipeline. */
export interface PipelineNaming {
  /** Query parameter with the name, on routes that have one. */
  readonly parameter?: string;
  /** Whether the parameter takes precedence over headers. */
  readonly prefersParameter?: boolean;
}

/**
 * Returns the pipeline that a request names; undefined if it names none.
 *
 * @throws `invalid_arguments` for a malformed version.
 */
export function pipelineName(context: RequestContext, naming: PipelineNaming = {}): PipelineName | undefined {
  const { parameter, prefersParameter = false } = naming;
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

/** Tables of a request, by which a pipeline can be bound to it. */
export interface PipelineTarget {
  readonly database: string;
  /** Empty where each item names its own. */
  readonly table: string;
}

/** Returns the pipeline that a request names, or that is bound to it; undefined if there is none. */
export function pipelineFor(
  context: RequestContext,
  target: PipelineTarget,
  library: PipelineLibrary,
  call: Call,
  naming: PipelineNaming = {},
): PipelineName | undefined | Promise<PipelineName | undefined> {
  const named = pipelineName(context, naming);
  if (named !== undefined) return named;
  const header = (name: string): string | undefined => {
    const value = context.request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  };
  const found = library.routes.find({ ...target, header }, call);
  return found instanceof Promise ? found.then(latestOf) : latestOf(found);
}

function latestOf(name: string | undefined): PipelineName | undefined {
  return name === undefined ? undefined : { name, version: undefined };
}

/** Calls `use` with the pipeline, at once if it is known already. */
export function withPipelineName<T>(
  name: ReturnType<typeof pipelineFor>,
  use: (name: PipelineName | undefined) => T | Promise<T>,
): T | Promise<T> {
  return name instanceof Promise ? name.then(use) : use(name);
}

/** Returns the pipeline of a request that must have one. @throws `invalid_arguments`. */
export async function requiredPipeline(
  context: RequestContext,
  target: PipelineTarget,
  library: PipelineLibrary,
  call: Call,
): Promise<PipelineName> {
  const name = await pipelineFor(context, target, library, call, { parameter: 'pipeline_name' });
  if (name !== undefined) return name;
  const hint = 'name a stored pipeline, or almanac_identity to store JSON objects as they are';
  throw new AlmanacError('invalid_arguments', `Invalid request parameter: pipeline_name is required: ${hint}`);
}

function firstText(texts: readonly (string | null | undefined)[]): string | undefined {
  return texts.map((text) => text?.trim()).find((text) => text !== undefined && text !== '');
}
