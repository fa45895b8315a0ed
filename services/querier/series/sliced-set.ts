import type { Slices } from '#shared/clock/slices';

/** Cost of adding one text to a set, in units of reading one number. */
const TEXT_WORK = 32;

/** Adds texts to a set, yielding to the event loop in between. */
export async function addAll(set: Set<string>, texts: Iterable<string>, slices: Slices): Promise<void> {
  for (const text of texts) {
    set.add(text);
    if (slices.isOver(TEXT_WORK)) await slices.yield();
  }
}
