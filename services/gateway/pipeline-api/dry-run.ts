import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';

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
import { CacheMemory } from '../protocols/common/cache-memory.js';
import { BODY_TYPES, type BodyType } from '../protocols/common/pipeline/body-items.js';
import { PipelineDecoder } from '../protocols/common/pipeline/decoder.js';
import { pipelineName } from '../protocols/common/pipeline/name.js';
import { readParameters, type PipelineParameters } from '../protocols/common/pipeline/parameters.js';
import { TagSeriesCache } from '../protocols/common/tag-series.js';
import { mediaTypeOf } from '../media-type.js';
import type { RequestContext } from '../request-context.js';
import { tableReport } from './table-report.js';
import type { JsonValue } from '../protocols/common/json.js';

const ITEMS_MAX = 10;
const TABLE = 'dry_run';

/** What a dry run is given (spec: pipelines 12). */
export interface DryRun {
  /** Text of the pipeline; undefined if a stored one is named. */
  readonly text: string | undefined;
  readonly name: { readonly name: string; readonly version: bigint | undefined } | undefined;
  readonly type: BodyType;
  readonly data: Buffer;
  readonly parameters: PipelineParameters;
}

/** Reads a dry run: an envelope with the pipeline and the items, or the items alone. @throws `invalid_arguments`. */
export function dryRunOf(context: RequestContext, body: Buffer | undefined): DryRun {
  const contentType = context.request.headers['content-type'];
  if (contentType === undefined) throw invalid('content-type is required');
  const bytes = body ?? Buffer.alloc(0);
  const header = context.productHeader('pipeline-params');
  const given = new URLSearchParams(header ?? '');
  const parameter = (name: string): string | undefined => given.get(name) ?? context.query.get(name) ?? undefined;
  const envelope = envelopeOf(bytes);
  if (envelope !== undefined) return envelopeRun(envelope, parameter);
  const name = pipelineName(context, 'pipeline_name');
  if (name === undefined) throw invalid('pipeline_name is required');
  return {
    text: undefined,
    name,
    type: bodyType(mediaTypeOf(contentType) ?? ''),
    data: bytes,
    parameters: readParameters(parameter),
  };
}

function envelopeOf(bytes: Buffer): ObjectValue | undefined {
  let value: PipelineValue;
  try {
    value = parseTree(bytes.toString());
  } catch {
    return undefined;
  }
  if (!isObject(value) || (!value.has('pipeline') && !value.has('pipeline_name'))) return undefined;
  const data = value.get('data');
  return typeof data === 'string' || isArray(data) ? value : undefined;
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
  };
}

function bodyType(given: string): BodyType {
  const type = BODY_TYPES.find((it) => it === mediaTypeOf(given));
  if (type !== undefined) return type;
  throw invalid(`invalid content type: ${given}, expected: one of ${BODY_TYPES.join(', ')}`);
}

/** Runs a pipeline over items and returns the rows that it would write, by table. @throws `invalid_arguments`. */
export async function dryRun(
  { text, name, type, data, parameters }: DryRun,
  library: PipelineLibrary,
  nowNs: bigint,
  call: Call,
): Promise<JsonValue> {
  const pipelines = await openPipelines(text, name, parameters, library, call);
  const tables: readonly Table[] = [];
  const input = { bytes: data, nowNs, batches: new BatchSet(), tables };
  const write = {
    database: '',
    create: true,
    timeIndex: { name: '', type: '' },
    tableOptions: {},
    timeType: 'TimestampNanosecond',
  };
  const series = new TagSeriesCache(new CacheMemory(0));
  const decoder = new PipelineDecoder(
    input,
    { pipelines, parameters, type, table: TABLE, write, failureKeys: undefined },
    series,
  );
  try {
    while (!decoder.decode(data.length)) checkItems(decoder);
    checkItems(decoder);
  } catch (error) {
    if (text === undefined) throw error;
    throw prefixed('Failed to exec pipeline', error);
  }
  return decoder.sink.rows.groups.flatMap((group) => {
    return [...group.tables.values()].flatMap((table) =>
      table.builder.rowCount === 0 ? [] : [tableReport(table, group)],
    );
  });
}

function checkItems({ sink }: PipelineDecoder): void {
  if (sink.run.itemCount > ITEMS_MAX) throw invalid(`a dry run takes at most ${ITEMS_MAX} items`);
}

async function openPipelines(
  text: string | undefined,
  name: DryRun['name'],
  parameters: PipelineParameters,
  library: PipelineLibrary,
  call: Call,
): Promise<PipelineSet> {
  if (text === undefined) {
    if (name === undefined) throw invalid('pipeline_name is required');
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

function invalid(text: string): Error {
  return buildError(`Invalid request parameter: ${text}`);
}
