import { getHeapStatistics, setFlagsFromString } from 'node:v8';

import type { Clock } from '#shared/clock/clock';
import { shareOf } from './share.js';

const SLACK_BYTES_MAX = 192 * 1024 * 1024;
const SLACK_PERCENT = 6;
const LOOK_MS = 10_000;
/** Below this the engine's own measure is as good. */
const GROWTH_MIN_PERCENT = 50;

/**
 * Lets the heap grow by a fixed size, instead of by half of what is in use, before the engine marks all of it.
 *
 * It counts the arrays of rows in memory, which nobody has to mark, as growth: of a heap of 40 MB it would otherwise mark
 * every object two or three times a second under load, a fifth of all the time of a process.
 *
 * @param limitBytes of the memory of the process.
 */
export function keepHeapSlack(limitBytes: number, clock: Clock): void {
  const slackBytes = Math.min(SLACK_BYTES_MAX, shareOf(limitBytes, SLACK_PERCENT));
  let percent = 0;
  const look = (): void => {
    const now = growthPercent(getHeapStatistics().used_heap_size, slackBytes);
    if (now !== percent) setFlagsFromString(`--heap-growing-percent=${now}`);
    percent = now;
    clock.after(LOOK_MS, look);
  };
  look();
}

/** By how much a heap of that size may grow; 0 leaves it to the engine. In steps, since the size is never at rest. */
export function growthPercent(usedBytes: number, slackBytes: number): number {
  const percent = Math.floor((10 * slackBytes) / usedBytes) * 10;
  return percent < GROWTH_MIN_PERCENT ? 0 : percent;
}
