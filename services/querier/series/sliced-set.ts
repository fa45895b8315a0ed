import type { Slices } from '#shared/clock/slices';

/** What it takes to add one text to a set, as so many numbers. */
const TEXT_WORK = 32;

/** Adds many texts to a set, with rests between. */
export async function addAll(set: Set<string>, texts: Iterable<string>, slices: Slices): Promise<void> {
  for (const text of texts) {
    set.add(text);
    if (slices.isOver(TEXT_WORK)) await slices.yield();
  }
}
