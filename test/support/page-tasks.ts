import type { Page } from 'playwright-core';

/** Runs in a page before its own scripts: notes tasks of 50 ms and longer. */
const OBSERVE = `window.taskMs = []; new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) window.taskMs.push(Math.round(duration));
}).observe({ type: 'longtask', buffered: true })`;

/** Runs in a page: scrolls the grid to its end and back. @returns the longest time between two frames. */
const SWEEP = `(async () => {
  const grid = document.querySelector('[role=grid]');
  const places = Array.from({ length: 61 }, (_, i) => i / 60);
  let [last, worst] = [performance.now(), 0];
  for (const place of [...places, ...places.toReversed()]) {
    grid.scrollTop = place * (grid.scrollHeight - grid.clientHeight);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    [worst, last] = [Math.max(worst, now - last), now];
  }
  return Math.round(worst);
})()`;

/** Notes tasks of 50 ms and longer, in this page and those that replace it. */
export async function noteLongTasks(page: Page): Promise<void> {
  await page.addInitScript(OBSERVE);
  await page.reload();
}

/** Returns the durations of the tasks of 50 ms and longer since the last call, in milliseconds. */
export function longTasksMs(page: Page): Promise<number[]> {
  return page.evaluate<number[]>('window.taskMs.splice(0)');
}

/** Scrolls the only grid of a page to its end and back. @returns the longest time between two frames, in milliseconds. */
export function sweepMs(page: Page): Promise<number> {
  return page.evaluate<number>(SWEEP);
}
