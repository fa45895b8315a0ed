import { buildError } from '../../build-error.js';
import { fieldSlots, missingField, type ProcessorKind } from '../processor.js';

/** Gives fields other names; a field that has the name already is replaced. */
export const rename: ProcessorKind = {
  name: 'rename',
  build(options, slots) {
    const fields = fieldSlots(options, slots);
    const same = fields.find(({ from, to }) => from === to);
    if (same !== undefined) throw buildError(`Processor rename: "${same.key}" has no new name: use "${same.key}, new"`);
    const { ignoreMissing } = options;
    return (item) => {
      for (const { from, to, key } of fields) {
        if (!item.has(from)) {
          if (ignoreMissing) continue;
          throw missingField('rename', key, item);
        }
        item.setField(to, item.field(from));
        item.remove(from);
      }
      return undefined;
    };
  },
};
