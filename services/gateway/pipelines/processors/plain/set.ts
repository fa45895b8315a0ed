import { fieldSlots, type ProcessorKind } from '../processor.js';
import { givenValue } from './given-value.js';

/** Sets fields to a value, or to a text made of other fields. */
export const setFieldValue: ProcessorKind = {
  name: 'set',
  build(options, slots) {
    const fields = fieldSlots(options, slots);
    const valueOf = givenValue('set', options, slots);
    const overrides = options.flag('override', true);
    return (item) => {
      for (const { to } of fields) if (overrides || item.isMissing(to)) item.set(to, valueOf(item));
      return undefined;
    };
  },
};
