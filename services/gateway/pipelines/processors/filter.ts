import { DROPPED, fieldSlots, notText, required, type ProcessorKind } from './processor.js';

const NO_TARGETS = 'Processor filter: missing field: targets';

/** Drops items by the value of a field. */
export const filter: ProcessorKind = {
  name: 'filter',
  build(options, slots) {
    const fields = fieldSlots(options, slots);
    const folds = options.flag('case_insensitive', true);
    const fold = folds ? (text: string): string => text.toLowerCase() : (text: string): string => text;
    const targets = new Set(
      required(options.texts('targets'), NO_TARGETS)
        .filter((it) => it !== '')
        .map(fold),
    );
    required(targets.size > 0 ? targets : undefined, NO_TARGETS);
    const dropsListed = options.text('match_op') !== 'not_in';
    options.text('mode');
    return (item) => {
      for (const { from } of fields) {
        if (item.isMissing(from)) continue;
        if (!item.isText(from)) throw notText('filter', item, from);
        if (targets.has(fold(item.text(from))) === dropsListed) return DROPPED;
      }
      return undefined;
    };
  },
};
