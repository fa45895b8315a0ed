import type { SampleSeries } from './samples.js';

/** Whether it follows from its start that the counter began anew between sample `i - 1` and sample `i`. */
export function isStartReset({ times, startTimes }: SampleSeries, i: number): boolean {
  if (startTimes === undefined) return false;
  const start = startTimes[i];
  const before = times[i - 1];
  if (start === 0 || start >= times[i] || start < before) return false;
  if (start > before) return true;
  // It starts where the last one was read. So do readings of deltas, and cumulative ones whose start nobody knew.
  const previous = startTimes[i - 1];
  return previous !== 0 && previous < before;
}

/** Whether sample `i` began before the one in front of it was read, and is not of the same counter. */
export function overlapsPrevious({ times, startTimes }: SampleSeries, i: number): boolean {
  if (startTimes === undefined) return false;
  const start = startTimes[i];
  return start !== 0 && start < times[i - 1] && start !== startTimes[i - 1];
}

/** When the counter of sample `i` began, if that is within the window before it; else 0. */
export function startWithin({ times, startTimes }: SampleSeries, i: number, startMs: number): number {
  const start = startTimes?.[i] ?? 0;
  return start !== 0 && start > startMs && start < times[i] ? start : 0;
}
