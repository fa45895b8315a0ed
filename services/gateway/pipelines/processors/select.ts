import { fieldSlots, type ProcessorKind } from './processor.js';

/** Keeps only the listed fields, renamed if requested, or removes them. */
export const selectFields: ProcessorKind = {
  name: 'select',
  build(options, slots) {
    const type = options.oneOf('type', ['include', 'exclude'], 'include', (given) => {
      return `Processor select: unsupported value '${given}', expect 'include' or 'exclude'`;
    });
    const fields = fieldSlots(options, slots);
    if (type === 'exclude') {
      return (item) => {
        for (const { from } of fields) item.remove(from);
        return undefined;
      };
    }
    return (item) => {
      const kept = fields.flatMap(({ from, to }) => (item.has(from) ? [{ to, field: item.field(from) }] : []));
      item.clear();
      for (const { to, field } of kept) item.setField(to, field);
      return undefined;
    };
  },
};
