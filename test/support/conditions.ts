import { systemClock } from '#shared/clock/clock';

/** Pauses grow: each look takes time from what it waits for. */
const POLL_MS = 10;
const POLL_GROWTH = 1.3;
const POLL_MS_MAX = 50;

/** Returns the pauses between looks at a condition. */
export function* pausesMs(): Generator<number, never, undefined> {
  for (let pauseMs = POLL_MS; ; pauseMs = Math.min(pauseMs * POLL_GROWTH, POLL_MS_MAX)) yield pauseMs;
}

/** Resolves when a condition holds. @throws if it does not within the time. */
export async function eventually(condition: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const untilMs = performance.now() + withinMs;
  for (const pauseMs of pausesMs()) {
    if (await condition()) return;
    if (performance.now() > untilMs) throw new Error(`not within ${withinMs} ms: ${condition.toString()}`);
    await systemClock.sleep(pauseMs);
  }
}
