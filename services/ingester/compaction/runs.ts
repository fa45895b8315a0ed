import type { Segment } from '#shared/contracts/gen/common';
import { floorDiv } from '../flush/windows.js';

/** Segments of one time window that have the rows of the same sequences: the output of one flush or merge. */
export interface SortedRun {
  readonly segments: readonly Segment[];
  readonly rowCount: number;
  readonly timeFirst: bigint;
  readonly timeLast: bigint;
  readonly sequenceFrom: bigint;
  readonly sequenceTo: bigint;
}

/**
 * Returns the runs of each time window, oldest first, as chains of runs that may be merged with their neighbors. A
 * segment of a longer window splits a chain if it is between two runs in version order and has rows of the same times.
 *
 * @param windowLength in the unit of the table's time index.
 */
export function chainsOf(segments: readonly Segment[], windowLength: bigint): SortedRun[][] {
  const byWindow = new Map<string, Segment[]>();
  for (const segment of segments) {
    const key = windowOf(segment, windowLength);
    const others = byWindow.get(key);
    if (others === undefined) byWindow.set(key, [segment]);
    else others.push(segment);
  }
  const chains: SortedRun[][] = [];
  for (const own of byWindow.values()) {
    const members = new Set(own);
    const strangers = byWindow.size === 1 ? [] : segments.filter((it) => !members.has(it));
    chains.push(...chained(runsOf(own), strangers));
  }
  return chains;
}

/** Returns the shortest window that holds the whole segment: `windowLength` times a power of two. */
function windowOf({ timeFirst, timeLast }: Segment, windowLength: bigint): string {
  for (let span = windowLength; ; span *= 2n) {
    const number = floorDiv(timeFirst, span);
    if (number === floorDiv(timeLast, span) || span > SPAN_MAX) return `${span}:${number}`;
  }
}

/** Longer than the range of all times. */
const SPAN_MAX = 1n << 64n;

function runsOf(segments: readonly Segment[]): SortedRun[] {
  const bySequence = new Map<string, Segment[]>();
  for (const segment of segments) {
    const key = `${segment.sequenceFrom}:${segment.sequenceTo}`;
    const others = bySequence.get(key);
    if (others === undefined) bySequence.set(key, [segment]);
    else others.push(segment);
  }
  return [...bySequence.values()].map(runOf).sort((a, b) => (a.sequenceFrom < b.sequenceFrom ? -1 : 1));
}

function runOf(segments: readonly Segment[]): SortedRun {
  const [{ sequenceFrom, sequenceTo }] = segments;
  let rowCount = 0;
  let [{ timeFirst, timeLast }] = segments;
  for (const segment of segments) {
    rowCount += segment.rowCount;
    if (segment.timeFirst < timeFirst) timeFirst = segment.timeFirst;
    if (segment.timeLast > timeLast) timeLast = segment.timeLast;
  }
  return { segments, rowCount, timeFirst, timeLast, sequenceFrom, sequenceTo };
}

function chained(runs: readonly SortedRun[], strangers: readonly Segment[]): SortedRun[][] {
  const chains: SortedRun[][] = [];
  let chain: SortedRun[] = [];
  for (const run of runs) {
    if (chain.length > 0 && strangers.some((stranger) => overlapsBetween(stranger, [...chain, run]))) {
      chains.push(chain);
      chain = [];
    }
    chain.push(run);
  }
  if (chain.length > 0) chains.push(chain);
  return chains;
}

function overlapsBetween(stranger: Segment, runs: readonly SortedRun[]): boolean {
  const [{ sequenceFrom }] = runs;
  const { sequenceTo } = runs[runs.length - 1];
  if (stranger.sequenceTo <= sequenceFrom || stranger.sequenceFrom >= sequenceTo) return false;
  return runs.some(({ timeFirst, timeLast }) => stranger.timeFirst <= timeLast && stranger.timeLast >= timeFirst);
}
