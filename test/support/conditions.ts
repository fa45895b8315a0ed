import { systemClock } from '#shared/clock/clock';

/** Pauses grow: each look takes time from what it waits for. */
const POLL_MS = 10;
const POLL_GROWTH = 1.3;
const POLL_MS_MAX = 50;

/** Returns the pauses between looks at a condition. */
export function* pausesMs(pauseMsMax = POLL_MS_MAX): Generator<number, never, undefined> {
  for (let pauseMs = POLL_MS; ; pauseMs = Math.min(pauseMs * POLL_GROWTH, pauseMsMax)) yield pauseMs;
}

/**
 * Resolves when a condition holds.
 *
 * @param pauseMsMax longest pause between two looks, for conditions that take much CPU time to look at.
 * @throws if it does not hold within the time.
 */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  withinMs = 10_000,
  pauseMsMax = POLL_MS_MAX,
): Promise<void> {
  const untilMs = performance.now() + withinMs;
  for (const pauseMs of pausesMs(pauseMsMax)) {
    if (await condition()) return;
    if (performance.now() > untilMs) throw new Error(`not within ${withinMs} ms: ${condition.toString()}`);
    await systemClock.sleep(pauseMs);
  }
}
