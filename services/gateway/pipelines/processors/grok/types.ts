import { itemError } from '../../build-error.js';
import type { Item } from '../../item.js';
import { INT64_MAX, INT64_MIN, shortened } from '../../values/value.js';

/** Types that the field of a grok pattern can have; without one it is a text. */
export const GROK_TYPES = ['int', 'long', 'float', 'double', 'boolean'] as const;
/** Type of the field of a grok pattern. */
export type GrokType = (typeof GROK_TYPES)[number];

const INT32_MAX = 2n ** 31n - 1n;
const INTEGER = /^[+-]?[0-9]{1,20}$/;
const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** Sets a field to a text that is converted. @throws `invalid_arguments` if it is not of the type. */
export function setTyped(item: Item, slot: number, text: string, type: GrokType): void {
  const fail = (): Error => {
    return itemError(`Processor grok: "${item.slots.keys[slot]}" is no ${type}: ${shortened(text)}`);
  };
  if (type === 'boolean') {
    const word = text.toLowerCase();
    if (word !== 'true' && word !== 'false') throw fail();
    item.set(slot, word === 'true');
  } else if (type === 'int' || type === 'long') {
    if (!INTEGER.test(text)) throw fail();
    const [min, max] = type === 'int' ? [-INT32_MAX - 1n, INT32_MAX] : [INT64_MIN, INT64_MAX];
    const value = BigInt(text.replace('+', ''));
    if (value < min || value > max) throw fail();
    item.setInteger(slot, value);
  } else {
    if (!DECIMAL.test(text)) throw fail();
    item.setFloat(slot, Number(text));
  }
}
