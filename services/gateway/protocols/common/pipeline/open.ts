import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { FailureKeys } from '../../../pipelines/failure-keys.js';
import { canonicalName, IDENTITY, type IdentityOptions } from '../../../pipelines/identity.js';
import type { PipelineLibrary, PipelineName } from '../../../pipelines/library.js';
import type { PipelineSet } from '../../../pipelines/run.js';
import type { RequestContext } from '../../../request-context.js';
import { pipelineParameters, type PipelineParameters } from './parameters.js';

const TRACE_PIPELINE = /^greptime_trace_v[01]$/;

/** The pipeline of a request, with all that its dispatchers can reach. */
export interface OpenPipeline {
  readonly pipelines: PipelineSet;
  readonly parameters: PipelineParameters;
  /** Undefined where items that fail cannot be stored. */
  readonly failureKeys: FailureKeys | undefined;
}

/** Opens the pipeline that a request names. @throws `invalid_arguments` if there is no such pipeline. */
export async function openPipeline(
  context: RequestContext,
  name: PipelineName,
  library: PipelineLibrary,
  call: Call,
  identity: Pick<IdentityOptions, 'usesItemTime'> = {},
): Promise<OpenPipeline> {
  if (TRACE_PIPELINE.test(canonicalName(name.name))) {
    throw new AlmanacError('invalid_arguments', 'Unsupported pipeline for logs');
  }
  const parameters = pipelineParameters(context);
  const pipelines = await library.open(name, { ...parameters, ...identity }, call);
  return { pipelines, parameters, failureKeys: library.failureKeys };
}

/** Whether a name is that of the identity pipeline. */
export function isIdentityName({ name }: PipelineName): boolean {
  return canonicalName(name) === IDENTITY;
}
