import { getHeapStatistics, setFlagsFromString } from 'node:v8';

import type { Clock } from '#shared/clock/clock';
import { shareOf } from './share.js';

const SLACK_BYTES_MAX = 96 * 1024 * 1024;
const SLACK_PERCENT = 6;
const LOOK_MS = 10_000;
/** Below this growth V8's own heuristic is as good. */
const GROWTH_MIN_PERCENT = 50;

/**
 * Lets V8's heap grow by a fixed size before a full mark, instead of by half of what is in use.
 *
 * V8 counts the arrays of rows in memory as growth although there is nothing to mark in them: with a heap of 40 MB it
 * would otherwise mark every object two or three times a second under load, a fifth of the process's CPU time.
 *
 * @param limitBytes memory limit of the process.
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

/** Percentage by which a heap of `usedBytes` may grow, in steps of 10 because the size fluctuates; 0 leaves it to V8. */
export function growthPercent(usedBytes: number, slackBytes: number): number {
  const percent = Math.floor((10 * slackBytes) / usedBytes) * 10;
  return percent < GROWTH_MIN_PERCENT ? 0 : percent;
}
