import { itemError } from '../build-error.js';
import { Held, type Item } from '../item.js';
import { timeUnit, UNIT_NAMES } from '../transform/time-unit.js';
import { printValue } from '../values/value.js';
import { setTimeOfCount } from './epoch-time.js';
import { eachField, required, type ProcessorKind } from './processor.js';

const INTEGER = /^[+-]?\d+$/;

/** Reads times given as the number of seconds, milliseconds, microseconds or nanoseconds since 1970. */
export const epoch: ProcessorKind = {
  name: 'epoch',
  timeUnit: (options) => timeUnit(options.text('resolution') ?? 'ms'),
  build(options, slots) {
    const resolution = options.text('resolution') ?? 'ms';
    const unit = required(timeUnit(resolution), `Invalid resolution: ${resolution}`);
    return eachField('epoch', options, slots, (item, { from, to }) => {
      if (item.kinds[from] === Held.timestamp) {
        item.setTimestamp(to, item.low[from], item.high[from]);
        return;
      }
      const count = countOf(item, from);
      if (setTimeOfCount(item, to, count, unit)) return;
      throw itemError(`Invalid epoch value '${count}' for resolution '${UNIT_NAMES[unit]}'`);
    });
  },
};

function countOf(item: Item, slot: number): number | bigint {
  switch (item.kinds[slot]) {
    case Held.integer:
    case Held.bigint:
      return item.integer(slot);
    case Held.float:
      return Math.trunc(item.low[slot]);
    case Held.bytes:
    case Held.text:
      return integerOf(item.text(slot));
    default:
      throw itemError(`Processor epoch: unsupported value ${printValue(item.get(slot) ?? null)}`);
  }
}

function integerOf(text: string): number | bigint {
  const value = INTEGER.test(text) && text.length <= 20 ? BigInt(text.replace('+', '')) : undefined;
  if (value === undefined || BigInt.asIntN(64, value) !== value) throw itemError(`Failed to parse ${text} to int`);
  const near = Number(value);
  return Number.isSafeInteger(near) ? near : value;
}
