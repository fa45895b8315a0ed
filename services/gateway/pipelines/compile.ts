import { LineCounter, parseAllDocuments } from 'yaml';

import { buildError } from './build-error.js';
import { compileDispatcher, type Dispatcher } from './dispatcher.js';
import { compileExtras, type PipelineExtras } from './document/extras.js';
import { KeySlots } from './item.js';
import type { LookupTable } from './lookup-tables.js';
import { compileProcessors, type CompiledStep } from './compile-steps.js';
import type { Conceal } from './processors/processor.js';
import type { PipelineResources } from './resources.js';
import { compileSuffix, type TableSuffix } from './table-suffix.js';
import { compileTransform, type Transform } from './transform/transform.js';
import { yamlValue } from './values/yaml-value.js';
import { isArray, isObject, printValue, shortened, type ObjectValue, type PipelineValue } from './values/value.js';

const GREPTIME_TIME = 'greptime_timestamp';
const TEXT_BYTES_MAX = 256 * 1024;
const COLUMNS_MAX = 2_000;
const ALIASES_MAX = 100;
const UNKNOWN_SHOWN = 20;
const DOCUMENT_KEYS = new Set([
  ...['version', 'description', 'processors', 'dispatcher', 'transform', 'transforms', 'table_suffix'],
  ...['on_error', 'multiline', 'metrics', 'tests', 'routes'],
]);

/** A pipeline that is ready to run. */
export interface CompiledPipeline {
  readonly name: string;
  /** Undefined if it is not stored. */
  readonly version?: bigint;
  /** Keys of the fields that it names; their positions are the slots that it uses. */
  readonly keys: readonly string[];
  readonly steps: readonly CompiledStep[];
  /** Tables that must be loaded before it runs. */
  readonly lookups: readonly LookupTable[];
  readonly dispatcher: Dispatcher | undefined;
  readonly transform: Transform;
  readonly suffix: TableSuffix | undefined;
  /** Key of the time that protocols give to items, as the pipeline spells it. */
  readonly timeKey: string;
  readonly extras: PipelineExtras;
  /** What removes secrets from items that are stored because they failed. */
  readonly concealers: readonly Conceal[];
  /** What the author should know. */
  readonly warnings: readonly string[];
}

/**
 * Compiles the text of a pipeline (spec: pipelines 2).
 *
 * @param timeColumn name of the time index where the pipeline names none.
 * @throws `invalid_arguments` if it does not build.
 */
export function compilePipeline(
  name: string,
  text: string,
  timeColumn: string,
  resources: PipelineResources,
): CompiledPipeline {
  const document = parseDocument(text);
  const version = readVersion(document.get('version') ?? 1n);
  const slots = new KeySlots([]);
  const warnings: string[] = [];
  const warn = (warning: string): void => void warnings.push(warning);
  const unknown = [...document.keys()].filter((key) => !DOCUMENT_KEYS.has(key));
  for (const key of unknown.slice(0, UNKNOWN_SHOWN)) warn(`unknown key ${shortened(key)}`);
  const context = { pipeline: name, resources, slots, warn };
  const { steps, timeFields, concealers, lookups } = compileProcessors(document.get('processors') ?? null, context);
  const dispatcher = compileDispatcher(document.get('dispatcher') ?? null, slots);
  const given = document.get('transforms') ?? document.get('transform') ?? null;
  const transform = compileTransform(given, { slots, version, timeColumn, timeFields, warn });
  if (transform.columns.length > COLUMNS_MAX) {
    throw buildError(`pipeline has more than ${COLUMNS_MAX} transform fields`);
  }
  const suffix = compileSuffix(document.get('table_suffix') ?? null, slots);
  const extras = compileExtras(document, slots);
  const timeKey = timeKeyOf(text, timeColumn);
  const rest = { timeKey, extras, concealers, lookups, warnings };
  return { name, keys: slots.keys, steps, dispatcher, transform, suffix, ...rest };
}

/** Pipelines that were written for GreptimeDB name the time as it does. */
function timeKeyOf(text: string, timeColumn: string): string {
  return !text.includes(timeColumn) && text.includes(GREPTIME_TIME) ? GREPTIME_TIME : timeColumn;
}

function parseDocument(text: string): ObjectValue {
  if (Buffer.byteLength(text) > TEXT_BYTES_MAX) throw buildError(`pipeline is larger than ${TEXT_BYTES_MAX} bytes`);
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { intAsBigInt: true, lineCounter, logLevel: 'silent' });
  if (!isArray(documents as unknown as PipelineValue) || documents.length !== 1) throw buildError('Yaml parse error.');
  const [document] = documents as Exclude<typeof documents, { empty: true }>;
  const [error] = document.errors;
  if (error !== undefined) throw buildError(`Yaml load error.: ${error.message.split('\n')[0]}`);
  let value: unknown;
  try {
    value = document.toJS({ mapAsMap: true, maxAliasCount: ALIASES_MAX });
  } catch (thrown) {
    throw buildError(`Yaml load error.: ${(thrown as Error).message}`);
  }
  const tree = yamlValue(value as PipelineValue);
  if (!isObject(tree)) throw buildError('Yaml parse error.');
  return tree;
}

function readVersion(given: PipelineValue): 1 | 2 {
  const text = printValue(given);
  if (text === '1' || text === '2') return text === '1' ? 1 : 2;
  throw buildError(`Invalid Pipeline doc version number: ${text}`);
}
