import { systemClock } from '#shared/clock/clock';

const POLL_MS = 10;

/** Resolves when a condition holds. @throws if it does not within the time. */
export async function eventually(condition: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > untilMs) throw new Error(`not within ${withinMs} ms: ${condition.toString()}`);
    await systemClock.sleep(POLL_MS);
  }
}
