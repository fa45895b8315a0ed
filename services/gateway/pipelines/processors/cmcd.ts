import { itemError } from '../build-error.js';
import type { Item } from '../item.js';
import type { PipelineValue } from '../values/value.js';
import { eachText, type ProcessorKind } from './processor.js';
import { percentDecode } from './urlencoding.js';

type Reader = (value: string, key: string) => PipelineValue;

const integer: Reader = (value, key) => {
  if (!/^[+-]?\d{1,18}$/.test(value)) throw itemError(`Failed to parse ${key} as int: ${value}`);
  return BigInt(value.replace('+', ''));
};
const float: Reader = (value, key) => {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)) {
    throw itemError(`Failed to parse ${key} as float: ${value}`);
  }
  return Number(value);
};
const text: Reader = (value) => value;

const KEYS: Readonly<Record<string, Reader>> = {
  ...Object.fromEntries('br bl d dl mtp rtp tb'.split(' ').map((key) => [key, integer])),
  ...Object.fromEntries('cid nrr ot sf sid st v'.split(' ').map((key) => [key, text])),
  bs: () => true,
  su: () => true,
  pr: float,
  nor: (value) => percentDecode(value),
};
const FLAGS = new Set(['bs', 'su']);

/** Parses Common Media Client Data (CTA-5004). */
export const cmcd: ProcessorKind = {
  name: 'cmcd',
  build(options, slots) {
    const targets = new Map(
      options.fields().map(({ to }) => {
        return [to, new Map(Object.keys(KEYS).map((key) => [key, slots.slotOf(`${to}_${key}`)]))] as const;
      }),
    );
    return eachText('cmcd', options, slots, (item, { from, target }) => {
      const keys = targets.get(target);
      if (keys !== undefined) read(item, item.text(from), keys);
    });
  },
};

function read(item: Item, source: string, slots: ReadonlyMap<string, number>): void {
  for (const part of source.split(',')) {
    const [key, value] = part.split('=');
    const slot = slots.get(key);
    if (slot === undefined) continue;
    if (value === undefined && !FLAGS.has(key)) throw itemError(`Cmcd ${key} missing value in ${source}`);
    item.set(slot, KEYS[key](value ?? '', key));
  }
}
