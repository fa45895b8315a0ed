import { hash64 } from '#shared/bytes/hash64';

import { buildError } from '../../build-error.js';
import { Held, type Item } from '../../item.js';
import type { Options } from '../../options.js';
import { printValue } from '../../values/value.js';
import { DROPPED, type ProcessorKind } from '../processor.js';

const RANGE = 2 ** 32;

/** Keeps a share of the items: at random, or the same ones everywhere by the value of a field. */
export const sample: ProcessorKind = {
  name: 'sample',
  build(options, slots, { pipeline, resources }) {
    const rate = readRate(options);
    const key = options.text('key');
    const slot = key === undefined ? undefined : slots.slotOf(key);
    const { random } = resources;
    const drop = resources.dropCounter(pipeline, 'sample');
    const hash = new ValueHash();
    return (item) => {
      if (item.journal.isReplay) return undefined;
      // Items without the value are chosen at random.
      const position = slot === undefined || item.isMissing(slot) ? random.fraction() : hash.fraction(item, slot);
      if (position < rate) return undefined;
      drop();
      return DROPPED;
    };
  },
};

function readRate(options: Options): number {
  const given = options.value('rate');
  const rate = typeof given === 'bigint' || typeof given === 'number' ? Number(given) : NaN;
  if (rate >= 0 && rate <= 1) return rate;
  throw buildError('Processor sample: rate must be a number from 0 to 1');
}

/** Hashes a value to a number in [0, 1) that is the same in every process. */
class ValueHash {
  readonly #lanes = new Uint32Array(2);

  fraction(item: Item, slot: number): number {
    if (item.kinds[slot] === Held.bytes) {
      hash64(item.other[slot] as Buffer, item.low[slot], item.high[slot], this.#lanes);
    } else {
      const bytes = Buffer.from(printValue(item.get(slot) ?? null));
      hash64(bytes, 0, bytes.length, this.#lanes);
    }
    return this.#lanes[0] / RANGE;
  }
}
