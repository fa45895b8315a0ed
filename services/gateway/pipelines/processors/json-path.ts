import { JSONPathEnvironment, JSONPathError, type JSONPathQuery, type JSONValue } from 'json-p3';

import { buildError } from '../build-error.js';
import { isArray, isObject, type PipelineValue } from '../values/value.js';
import { fieldSlots, missingField, required, type ProcessorKind } from './processor.js';

const NO_PATH = 'Processor json_path: missing field: json_path';
/** GreptimeDB also accepts a dot in front of brackets. Outside of quotes, no other text has these two characters. */
const DOTTED_BRACKET = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\.\[/g;

/** Extracts the values that a JSONPath finds: all as an array, or one by its position. */
export const jsonPath: ProcessorKind = {
  name: 'json_path',
  build(options, slots) {
    const fields = fieldSlots(options, slots);
    const query = compilePath(required(options.text('json_path'), NO_PATH));
    const index = options.value('result_index');
    if (index !== undefined && typeof index !== 'bigint') throw buildError('Field result_index must be an integer');
    const { ignoreMissing } = options;
    return (item) => {
      for (const { from, to, key } of fields) {
        const value = item.get(from);
        if (value !== undefined) item.set(to, extract(value, query, index));
        else if (!ignoreMissing) throw missingField('json_path', key, item);
      }
      return undefined;
    };
  },
};

function compilePath(path: string): JSONPathQuery {
  const environment = new JSONPathEnvironment();
  // These two run regular expressions without a bound on their time.
  environment.functionRegister.delete('match');
  environment.functionRegister.delete('search');
  try {
    return environment.compile(path.replace(DOTTED_BRACKET, (token, quoted?: string) => quoted ?? token.slice(1)));
  } catch (error) {
    if (error instanceof JSONPathError) throw buildError(`Invalid json_path ${path}: ${error.message}`);
    throw error;
  }
}

function extract(value: PipelineValue, query: JSONPathQuery, index: bigint | undefined): PipelineValue {
  const locations = query.query(plain(value)).locations();
  if (locations.length === 0) return null;
  if (index === undefined) return locations.map((location) => valueAt(value, location));
  const location = locations[Number(index)];
  return location === undefined ? null : valueAt(value, location);
}

/** Returns the value at a location. The library finds locations; integers stay exact only in the original. */
function valueAt(value: PipelineValue, location: readonly (string | number)[]): PipelineValue {
  let found: PipelineValue = value;
  for (const part of location) {
    if (isArray(found)) found = found[Number(part)] ?? null;
    else found = isObject(found) ? (found.get(String(part)) ?? null) : null;
  }
  return found;
}

function plain(value: PipelineValue): JSONValue {
  if (isArray(value)) return value.map(plain);
  if (isObject(value)) return Object.fromEntries([...value].map(([key, member]) => [key, plain(member)]));
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'object' && value !== null ? value.text() : value;
}
