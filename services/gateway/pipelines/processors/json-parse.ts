import { AlmanacError } from '#shared/errors/almanac-error';

import { itemError } from '../build-error.js';
import { parseTree } from '../values/parse-tree.js';
import { describeValue, isArray, isObject, printValue, type PipelineValue } from '../values/value.js';
import { eachField, type ProcessorKind } from './processor.js';

/** Parses a string that holds a JSON object or array. */
export const jsonParse: ProcessorKind = {
  name: 'json_parse',
  build: (options, slots) =>
    eachField('json_parse', options, slots, (item, { from, to, key }) => {
      if (!item.isText(from)) {
        throw itemError(`Field ${key} must be a string, but got ${describeValue(item.get(from) ?? null)}`);
      }
      const value = parsed(item.text(from));
      if (!isArray(value) && !isObject(value)) {
        throw itemError(`Processor json_parse: unsupported value ${printValue(value)}`);
      }
      item.set(to, value);
    }),
};

function parsed(text: string): PipelineValue {
  try {
    return parseTree(text);
  } catch (error) {
    throw itemError(`Failed to parse json: ${AlmanacError.from(error).publicMessage}`);
  }
}
