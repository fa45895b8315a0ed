import { itemError } from '../build-error.js';
import { describeValue, isArray, printValue } from '../values/value.js';
import { eachField, required, type ProcessorKind } from './processor.js';

/** Joins the elements of an array to a string. */
export const join: ProcessorKind = {
  name: 'join',
  build(options, slots) {
    const separator = required(options.text('separator'), 'Separator is required');
    return eachField('join', options, slots, (item, { from, to }) => {
      const value = item.get(from) ?? null;
      if (!isArray(value)) throw itemError(`Processor join: expect string value, but got ${describeValue(value)}`);
      item.setText(to, value.map(printValue).join(separator));
    });
  },
};
