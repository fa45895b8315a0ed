import type { ColumnIndex as StoredIndex } from '#shared/contracts/gen/common';
import { indexOptions, indexOptionValue, type IndexKind } from '#shared/schema/column-indexes';
import type { DataType } from '#shared/schema/data-type';

import { buildError } from '../build-error.js';
import { isObject, printValue, type PipelineValue } from '../values/value.js';
import { typeLabel } from './column-type.js';

/** Index of a column, with all options that it has. */
export interface ColumnIndex {
  readonly type: 'inverted' | 'fulltext' | 'skipping';
  readonly options: Readonly<Record<string, string>>;
}

/** What the `index` of a transform makes of its columns. */
export interface IndexUse {
  readonly isTimeIndex: boolean;
  readonly isTag: boolean;
  readonly index: ColumnIndex | undefined;
}

const NO_INDEX: IndexUse = { isTimeIndex: false, isTag: false, index: undefined };

const TIME_INDEX: IndexUse = { ...NO_INDEX, isTimeIndex: true };
const WITHOUT_OPTIONS = new Map<string, IndexUse>([
  ['timestamp', TIME_INDEX],
  ['time', TIME_INDEX],
  ['tag', { ...NO_INDEX, isTag: true }],
  ['inverted', { ...NO_INDEX, index: { type: 'inverted', options: {} } }],
]);

const INDEX_NAMES = ['timestamp', 'tag', 'fulltext', 'inverted', 'skipping'].join(', ');

/** Reads the `index` of a transform (spec: pipelines 5.4). @throws `invalid_arguments`. */
export function indexUse(given: PipelineValue | undefined): IndexUse {
  if (given === undefined || given === null) return NO_INDEX;
  const type = isObject(given) ? given.get('type') : given;
  if (isObject(given)) {
    const unknown = [...given.keys()].find((key) => key !== 'type' && key !== 'options');
    if (unknown !== undefined) throw buildError(`Unsupported field in transform index config: ${unknown}`);
    if (type === undefined || type === null) throw buildError('Transform index `type` must be set.');
  }
  if (typeof type !== 'string') throw buildError('Transform index `type` must be a string');
  return useOf(type.toLowerCase(), isObject(given) ? (given.get('options') ?? undefined) : undefined, type);
}

function useOf(name: string, options: PipelineValue | undefined, given: string): IndexUse {
  if (name === 'fulltext' || name === 'skipping') {
    return { ...NO_INDEX, index: { type: name, options: readOptions(name, options) } };
  }
  const use = WITHOUT_OPTIONS.get(name);
  if (use === undefined) throw buildError(`Unsupported index type: ${given}. Use one of ${INDEX_NAMES}`);
  if (options !== undefined) throw buildError(`Index type \`${name}\` does not support options in pipeline config`);
  return use;
}

/** Checks that a column can have the index. @throws `invalid_arguments`. */
export function checkIndexedType({ index }: IndexUse, type: DataType): void {
  if (index?.type !== 'fulltext' || type.name === 'String') return;
  throw buildError(`Index \`fulltext\` only supports STRING columns, but got ${typeLabel(type)}`);
}

function readOptions(type: 'fulltext' | 'skipping', given: PipelineValue | undefined): Record<string, string> {
  const options = indexOptions(kindOf(type), {});
  if (given === undefined || given === null) return options;
  if (!isObject(given)) throw buildError('Transform index `options` must be a map');
  for (const [name, value] of given) {
    if (!Object.hasOwn(options, name)) throw buildError(`Unsupported option \`${name}\` for \`${type}\` index`);
    if (value === null || typeof value === 'object') {
      throw buildError(`Transform index option \`${name}\` must be a string, boolean, integer, or real scalar`);
    }
    options[name] = checkedOption(type, name, printValue(value));
  }
  return options;
}

function checkedOption(type: string, name: string, text: string): string {
  const value = indexOptionValue(name, text);
  if (value === undefined) throw buildError(`Invalid value \`${text}\` of option \`${name}\` for \`${type}\` index`);
  return value;
}

/** Returns the index as a table's columns have it. */
export function storedIndex({ type, options }: ColumnIndex): StoredIndex {
  return { kind: kindOf(type), options };
}

function kindOf(type: ColumnIndex['type']): IndexKind {
  return type.toUpperCase() as IndexKind;
}
