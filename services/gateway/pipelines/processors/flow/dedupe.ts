import { parseDurationMs } from '#shared/time/duration';
import { AlmanacError } from '#shared/errors/almanac-error';

import { buildError } from '../../build-error.js';
import type { Item } from '../../item.js';
import type { Options } from '../../options.js';
import { stateKey } from '../../state.js';
import { compareKeys } from '../../values/value.js';
import { DROPPED, required, type ProcessorKind } from '../processor.js';

const WINDOW_MS_MAX = 86_400_000;

/** Drops items whose fields equal those of another one within a time. */
export const dedupe: ProcessorKind = {
  name: 'dedupe',
  build(options, slots, { pipeline, resources }) {
    const windowMs = readWindow(options);
    const listed = options.fields().map(({ from }) => slots.slotOf(from));
    const state = resources.state.own();
    const { clock } = resources;
    const drop = resources.dropCounter(pipeline, 'dedupe');
    return (item) => {
      if (item.journal.isReplay) return undefined;
      const nowMs = clock.monotonicMs();
      const key = listed.length > 0 ? stateKey(item, listed) : wholeKey(item);
      const first = state.get(key);
      if (first !== undefined && nowMs - first.atMs < windowMs) {
        first.amount++;
        drop();
        return DROPPED;
      }
      const entry = { atMs: nowMs, amount: 1 };
      state.set(key, entry);
      // A request that fails is sent again: its items must not count as duplicates then.
      item.journal.add(() => state.remove(key, entry));
      return undefined;
    };
  },
};

function readWindow(options: Options): number {
  const text = required(options.text('window'), 'Processor dedupe: missing field: window');
  let windowMs: number;
  try {
    windowMs = parseDurationMs(text);
  } catch (error) {
    throw buildError(`Processor dedupe: window: ${AlmanacError.from(error).publicMessage}`);
  }
  if (windowMs > 0 && windowMs <= WINDOW_MS_MAX) return windowMs;
  throw buildError(`Processor dedupe: window "${text}" must be longer than 0s, and at most 24h`);
}

/** Returns a key of all fields, whatever their order. */
function wholeKey(item: Item): string {
  const { keys } = item.slots;
  const slots = item.present().sort((a, b) => compareKeys(keys[a], keys[b]));
  return stateKey(item, slots, JSON.stringify(slots.map((slot) => keys[slot])));
}
