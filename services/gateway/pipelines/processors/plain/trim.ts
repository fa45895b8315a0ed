import { isArray, type PipelineValue } from '../../values/value.js';
import { eachField, notText, type ProcessorKind } from '../processor.js';

/** Removes spaces from both ends of texts, and of texts in arrays. */
export const trimText: ProcessorKind = {
  name: 'trim',
  build: (options, slots) =>
    eachField('trim', options, slots, (item, { from, to }) => {
      if (item.isText(from)) return item.setText(to, item.text(from).trim());
      const value = item.get(from);
      if (!isArray(value)) throw notText('trim', item, from);
      item.set(to, value.map(trimmed));
    }),
};

function trimmed(value: PipelineValue): PipelineValue {
  return typeof value === 'string' ? value.trim() : value;
}
