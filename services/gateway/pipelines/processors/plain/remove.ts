import { fieldSlots, missingField, type ProcessorKind } from '../processor.js';

/** Removes fields. */
export const removeFields: ProcessorKind = {
  name: 'remove',
  build(options, slots) {
    const fields = fieldSlots(options, slots);
    const { ignoreMissing } = options;
    return (item) => {
      for (const { from, key } of fields) {
        if (!item.has(from) && !ignoreMissing) throw missingField('remove', key, item);
        item.remove(from);
      }
      return undefined;
    };
  },
};
