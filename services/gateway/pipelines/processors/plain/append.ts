import { itemError } from '../../build-error.js';
import type { Item } from '../../item.js';
import { canonicalJson, isArray, type PipelineValue } from '../../values/value.js';
import { fieldSlots, type ProcessorKind } from '../processor.js';
import { givenValue } from './given-value.js';

/** Elements of an array that a processor makes. */
export const ELEMENTS_MAX = 10_000;

/** Adds values to an array; another value becomes the first element. */
export const append: ProcessorKind = {
  name: 'append',
  build(options, slots) {
    const fields = fieldSlots(options, slots);
    const valueOf = givenValue('append', options, slots);
    const allowsDuplicates = options.flag('allow_duplicates', true);
    return (item) => {
      const given = valueOf(item);
      const added = isArray(given) ? given : [given];
      for (const { to } of fields) item.set(to, appended(item, to, added, allowsDuplicates));
      return undefined;
    };
  },
};

function appended(
  item: Item,
  slot: number,
  added: readonly PipelineValue[],
  allowsDuplicates: boolean,
): readonly PipelineValue[] {
  const before = item.isMissing(slot) ? [] : item.get(slot);
  const elements: PipelineValue[] = isArray(before) ? [...before] : [before ?? null];
  const known = allowsDuplicates ? undefined : new Set(elements.map(canonicalJson));
  for (const element of added) {
    const json = known === undefined ? '' : canonicalJson(element);
    if (known?.has(json) === true) continue;
    known?.add(json);
    elements.push(element);
  }
  if (elements.length <= ELEMENTS_MAX) return elements;
  throw itemError(`Processor append: array has more than ${ELEMENTS_MAX} elements`);
}
