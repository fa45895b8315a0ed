import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import { buildError } from '../pipelines/build-error.js';
import type { PipelineLibrary } from '../pipelines/library.js';
import type { PipelineSet } from '../pipelines/run.js';
import { parseTree } from '../pipelines/values/parse-tree.js';
import {
  isArray,
  isObject,
  canonicalJson,
  printValue,
  type ObjectValue,
  type PipelineValue,
} from '../pipelines/values/value.js';
import { parseVersion } from '../pipelines/version.js';
import { BODY_TYPES, type BodyType } from '../protocols/common/pipeline/body-items.js';
import type { PipelineDecoder } from '../protocols/common/pipeline/decoder.js';
import { pipelineName } from '../protocols/common/pipeline/name.js';
import { readParameters, type PipelineParameters } from '../protocols/common/pipeline/parameters.js';
import { mediaTypeOf } from '../media-type.js';
import type { RequestContext } from '../request-context.js';
import { Explanation } from './explain.js';
import { runTrial, trialTables } from './trial.js';
import type { JsonObject, JsonValue } from '../protocols/common/json.js';

const ITEMS_MAX = 10;

/** What a dry run is given (spec: pipelines 12). */
export interface DryRun {
  /** Text of the pipeline; undefined if a stored one is named. */
  readonly text: string | undefined;
  readonly name: { readonly name: string; readonly version: bigint | undefined } | undefined;
  readonly type: BodyType;
  readonly data: Buffer;
  readonly parameters: PipelineParameters;
  /** Whether the reply has the items after each processor. */
  readonly explains: boolean;
}

/** Reads a dry run: an envelope with the pipeline and the items, or the items alone. @throws `invalid_arguments`. */
export function dryRunOf(context: RequestContext, body: Buffer | undefined): DryRun {
  const contentType = context.request.headers['content-type'];
  if (contentType === undefined) throw invalid('content-type is required');
  const bytes = body ?? Buffer.alloc(0);
  const header = context.productHeader('pipeline-params');
  const given = new URLSearchParams(header ?? '');
  const parameter = (name: string): string | undefined => given.get(name) ?? context.query.get(name) ?? undefined;
  const envelope = envelopeOf(bytes, 'data');
  if (envelope !== undefined) return envelopeRun(envelope, parameter);
  const name = pipelineName(context, { parameter: 'pipeline_name' });
  if (name === undefined) throw missingInput();
  return {
    text: undefined,
    name,
    type: bodyType(mediaTypeOf(contentType) ?? ''),
    data: bytes,
    parameters: readParameters(parameter),
    explains: context.query.get('explain') === 'true',
  };
}

/** Returns the body as an envelope: an object with a pipeline, and a member that says which items; undefined for others. */
export function envelopeOf(bytes: Buffer, items: 'data' | 'against'): ObjectValue | undefined {
  let value: PipelineValue;
  try {
    value = parseTree(bytes.toString());
  } catch {
    return undefined;
  }
  if (!isObject(value) || (!value.has('pipeline') && !value.has('pipeline_name'))) return undefined;
  const named = value.get(items);
  return typeof named === 'string' || (items === 'data' && isArray(named)) ? value : undefined;
}

function envelopeRun(envelope: ObjectValue, parameter: (name: string) => string | undefined): DryRun {
  const member = (name: string): string | undefined => {
    const value = envelope.get(name) ?? undefined;
    return value === undefined ? undefined : printValue(value);
  };
  const data = envelope.get('data') ?? null;
  const parameters = envelope.get('params');
  const own = (name: string): string | undefined => {
    const value = isObject(parameters) ? parameters.get(name) : undefined;
    return value === undefined || value === null ? parameter(name) : printValue(value);
  };
  const name = member('pipeline_name');
  const version = member('pipeline_version');
  return {
    text: member('pipeline'),
    name: name === undefined ? undefined : { name, version: version === undefined ? undefined : parseVersion(version) },
    type: bodyType(member('data_type') ?? 'application/json'),
    data: Buffer.from(isArray(data) ? canonicalJson(data) : printValue(data)),
    parameters: readParameters(own),
    explains: envelope.get('explain') === true,
  };
}

function bodyType(given: string): BodyType {
  const type = BODY_TYPES.find((it) => it === mediaTypeOf(given));
  if (type !== undefined) return type;
  throw invalid(`invalid content type: ${given}, expected: one of ${BODY_TYPES.join(', ')}`);
}

/** Runs a pipeline over items and returns the rows that it would write, by table. @throws `invalid_arguments`. */
export async function dryRun(
  { text, name, type, data, parameters, explains }: DryRun,
  library: PipelineLibrary,
  nowNs: bigint,
  call: Call,
): Promise<JsonValue> {
  const pipelines = await openPipelines(text, name, parameters, library, call);
  const trial = { pipelines, parameters, type, data, nowNs, check: checkItems };
  if (explains) {
    // Items that fail are explained, too.
    const observer = new Explanation();
    const decoder = runTrial({ ...trial, parameters: { ...parameters, onError: 'skip' }, observer });
    return { tables: trialTables(decoder), items: observer.items, ...warningsOf(pipelines) };
  }
  try {
    return trialTables(runTrial(trial));
  } catch (error) {
    if (text === undefined) throw error;
    throw prefixed('Failed to exec pipeline', error);
  }
}

function checkItems({ sink }: PipelineDecoder): void {
  if (sink.run.itemCount > ITEMS_MAX) {
    throw invalid(`a dry run takes at most ${ITEMS_MAX} items: with "against" it runs over more rows of a table`);
  }
}

/** Returns what the author of the pipeline should know as a member of the reply; none if there is nothing. */
export function warningsOf({ root: { warnings } }: PipelineSet): JsonObject {
  return warnings.length === 0 ? {} : { warnings };
}

/** Opens the pipeline of a dry run. @throws `invalid_arguments` if it does not build, or there is none. */
export async function openPipelines(
  text: string | undefined,
  name: DryRun['name'],
  parameters: PipelineParameters,
  library: PipelineLibrary,
  call: Call,
): Promise<PipelineSet> {
  if (text === undefined) {
    if (name === undefined) throw missingInput();
    return library.open(name, parameters, call);
  }
  let compiled;
  try {
    compiled = library.compile('(inline)', text);
  } catch (error) {
    throw prefixed('Failed to build pipeline', error);
  }
  return library.close(compiled, call);
}

function prefixed(prefix: string, thrown: unknown): AlmanacError {
  const error = AlmanacError.from(thrown);
  if (error.httpStatus !== 400) return error;
  return new AlmanacError('invalid_arguments', `${prefix}: ${error.publicMessage}`, { details: error.details });
}

function missingInput(): Error {
  return invalid(
    'pipeline_name is required: send {"pipeline": "..", "data": ".."}, {"pipeline_name": "..", "data": ".."}, or "against": "table" instead of "data"',
  );
}

function invalid(text: string): Error {
  return buildError(`Invalid request parameter: ${text}`);
}
