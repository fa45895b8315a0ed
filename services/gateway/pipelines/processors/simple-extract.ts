import { isObject, type PipelineValue } from '../values/value.js';
import { fieldSlots, missingField, type ProcessorKind } from './processor.js';

/** Copies a member of an object, found by its path; null if there is none. */
export const simpleExtract: ProcessorKind = {
  name: 'simple_extract',
  build(options, slots) {
    const fields = fieldSlots(options, slots);
    const path = (options.text('key') ?? '').split('.').filter((part) => part !== '');
    const { ignoreMissing } = options;
    return (item) => {
      for (const { from, to, key } of fields) {
        const value = item.get(from);
        if (value !== undefined) item.set(to, memberAt(value, path));
        else if (!ignoreMissing) throw missingField('simple_extract', key, item);
      }
      return undefined;
    };
  },
};

function memberAt(value: PipelineValue, path: readonly string[]): PipelineValue {
  let found: PipelineValue = value;
  for (const key of path) found = isObject(found) ? (found.get(key) ?? null) : null;
  return found;
}
