import { itemError } from '../../build-error.js';
import { Item, KeySlots } from '../../item.js';
import { describeValue, isArray, isObject, type ObjectValue, type PipelineValue } from '../../values/value.js';
import { DROPPED, eachField, required, type ProcessorKind, type Step } from '../processor.js';
import { ELEMENTS_MAX } from './append.js';

/** Key of an element that is no object. */
const VALUE_KEY = '_value';

/** Runs processors over each element of an array. */
export const foreachElement: ProcessorKind = {
  name: 'foreach',
  build(options, slots, context) {
    const given = required(options.value('processors'), 'Processor foreach: missing field: processors');
    const inner = new KeySlots([]);
    const valueSlot = inner.slotOf(VALUE_KEY);
    const run = context.steps('processors', given, inner);
    return eachField('foreach', options, slots, (item, { from, to }) => {
      const elements = item.get(from) ?? null;
      if (!isArray(elements)) {
        throw itemError(`Processor foreach: expect array value, but got ${describeValue(elements)}`);
      }
      if (elements.length > ELEMENTS_MAX) {
        throw itemError(`Processor foreach: array has more than ${ELEMENTS_MAX} elements`);
      }
      // The keys of elements end with the item: their number is not limited.
      const element = new Item(new KeySlots(inner.keys), item.journal);
      item.set(
        to,
        elements.flatMap((value) => changed(element, value, valueSlot, run)),
      );
    });
  },
};

/** Runs the processors over an element; an object has its members as fields. @returns the element, or nothing. */
function changed(element: Item, value: PipelineValue, valueSlot: number, run: Step): readonly PipelineValue[] {
  const { slots } = element;
  element.clear();
  if (isObject(value)) for (const [key, member] of value) element.set(slots.slotOf(key), member);
  else element.set(valueSlot, value);
  const result = run(element);
  if (result === DROPPED) return [];
  if (result !== undefined) throw itemError('Processor foreach: a processor makes rows of an element');
  if (!isObject(value)) return element.has(valueSlot) ? [element.get(valueSlot) ?? null] : [];
  const members: ObjectValue = new Map();
  for (const slot of element.present()) members.set(slots.keys[slot], element.get(slot) ?? null);
  return [members];
}
