import { buildError } from '../../build-error.js';
import type { Options } from '../../options.js';
import { stateKey } from '../../state.js';
import { DROPPED, required, type ProcessorKind } from '../processor.js';

const LIMIT = /^([0-9]{1,9})\s*\/\s*(s|m|h)$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };
const FIELDS_MAX = 16;

/** Drops items beyond a rate, for each value of some fields. A value may use what it has saved for one unit of time. */
export const throttle: ProcessorKind = {
  name: 'throttle',
  build(options, slots, { pipeline, resources }) {
    const { count, unitMs } = readLimit(options);
    const perSlots = readPer(options).map((key) => slots.slotOf(key));
    const state = resources.state.own();
    const { clock } = resources;
    const drop = resources.dropCounter(pipeline, 'throttle');
    return (item) => {
      if (item.journal.isReplay) return undefined;
      const nowMs = clock.monotonicMs();
      const key = stateKey(item, perSlots);
      let bucket = state.get(key);
      if (bucket === undefined) state.set(key, (bucket = { atMs: nowMs, amount: count }));
      bucket.amount = Math.min(count, bucket.amount + ((nowMs - bucket.atMs) * count) / unitMs);
      bucket.atMs = nowMs;
      if (bucket.amount < 1) {
        drop();
        return DROPPED;
      }
      bucket.amount--;
      const used = bucket;
      item.journal.add(() => used.amount++);
      return undefined;
    };
  },
};

function readLimit(options: Options): { readonly count: number; readonly unitMs: number } {
  const text = required(options.text('limit'), 'Processor throttle: missing field: limit');
  const [, digits, unit] = LIMIT.exec(text.trim()) ?? [];
  const count = Number(digits);
  if (count >= 1) return { count, unitMs: UNIT_MS[unit] };
  throw buildError(`Processor throttle: limit "${text}" must be a number for a second, minute or hour, such as 100/s`);
}

function readPer(options: Options): string[] {
  const given = options.value('per');
  const keys = typeof given === 'string' ? [given] : (options.texts('per') ?? []);
  if (keys.length > FIELDS_MAX) throw buildError(`Processor throttle: more than ${FIELDS_MAX} fields`);
  return keys;
}
