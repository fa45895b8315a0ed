import type { Slices } from '#shared/clock/slices';

/** Things that are sorted without a rest. */
const RUN_LENGTH = 4096;
/** What it takes to merge one thing, as so many numbers. */
const MERGE_WORK = 32;

/** Sorts many things in runs that are merged then, with rests between; equal ones keep their order. */
export async function sortedInSlices<T>(
  things: T[],
  compare: (one: T, other: T) => number,
  slices: Slices,
): Promise<T[]> {
  if (things.length <= RUN_LENGTH) return things.sort(compare);
  let runs: T[][] = [];
  for (let at = 0; at < things.length; at += RUN_LENGTH) {
    runs.push(things.slice(at, at + RUN_LENGTH).sort(compare));
    await slices.yield();
  }
  while (runs.length > 1) {
    const next: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      next.push(i + 1 < runs.length ? await mergedRuns(runs[i], runs[i + 1], compare, slices) : runs[i]);
    }
    runs = next;
  }
  return runs[0];
}

async function mergedRuns<T>(
  one: readonly T[],
  other: readonly T[],
  compare: (one: T, other: T) => number,
  slices: Slices,
): Promise<T[]> {
  const all: T[] = [];
  let i = 0;
  let j = 0;
  while (i < one.length || j < other.length) {
    const isFirst = j >= other.length || (i < one.length && compare(one[i], other[j]) <= 0);
    all.push(isFirst ? one[i++] : other[j++]);
    if (slices.isOver(MERGE_WORK)) await slices.yield();
  }
  return all;
}
