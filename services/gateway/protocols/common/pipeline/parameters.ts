import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../../../request-context.js';
import { onErrorOf } from '../../../pipelines/document/extras.js';
import type { RunParameters } from '../../../pipelines/run.js';

/** Parameters of a request that uses a pipeline. */
export interface PipelineParameters extends RunParameters {
  /** Whether items that cannot be read are left out. */
  readonly ignoresErrors: boolean;
  readonly customTimeIndex: string | undefined;
}

/** Levels of objects that the identity pipeline distinguishes; more are JSON text. */
const LEVELS_MAX = 10;
/** No JSON has more levels. */
const LEVELS_LIMIT = 64;
const TRUE = new Set(['true', '1', 'yes', 'on', 't']);

/** Reads the parameters of a request (spec: pipelines 13). @throws `invalid_arguments`. */
export function pipelineParameters(context: RequestContext): PipelineParameters {
  const given = headerParameters(context.productHeader('pipeline-params'));
  return readParameters((name) => given.get(name) ?? context.query.get(name) ?? undefined);
}

/** Reads the parameters from texts by name. @throws `invalid_arguments`. */
export function readParameters(of: (name: string) => string | undefined): PipelineParameters {
  const levels = of('max_nested_levels');
  if (levels !== undefined && !/^[1-9]\d{0,5}$/.test(levels)) {
    throw new AlmanacError('invalid_arguments', `max_nested_levels must be a positive integer, not "${levels}"`);
  }
  return {
    onError: onErrorOf(of('on_error')) ?? (isTrue(of('skip_error')) ? 'skip' : undefined),
    levelsMax: Math.min(Number(levels ?? LEVELS_MAX), LEVELS_LIMIT),
    ignoresErrors: isTrue(of('ignore_errors')),
    customTimeIndex: of('custom_time_index'),
  };
}

function isTrue(text: string | undefined): boolean {
  return text !== undefined && TRUE.has(text.trim().toLowerCase());
}

/** Returns the members of a header such as `skip_error=true&max_nested_levels=3`. */
function headerParameters(header: string | undefined): ReadonlyMap<string, string> {
  const members = (header ?? '').split(/[,&]/).flatMap((part) => {
    const equals = part.indexOf('=');
    return equals < 0 ? [] : [[part.slice(0, equals).trim(), part.slice(equals + 1).trim()] as const];
  });
  return new Map(members);
}
