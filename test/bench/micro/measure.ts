const ROUNDS = 9;
const ROUND_MS = 100;

/** Prints the median rate of `run`, which processes `count` units; it is warmed up first. */
export async function measure(name: string, unit: string, count: number, run: () => unknown): Promise<void> {
  await round(run);
  const rates: number[] = [];
  for (let i = 0; i < ROUNDS; i++) rates.push((await round(run)) * count);
  const rate = rates.sort((a, b) => a - b)[ROUNDS >> 1];
  console.log(`${name.padEnd(48)} ${(rate / 1e6).toFixed(3).padStart(10)} million ${unit}/s`);
}

/** Returns the runs per second over about 100 ms. */
async function round(run: () => unknown): Promise<number> {
  const startMs = performance.now();
  let runs = 0;
  for (; performance.now() - startMs < ROUND_MS; runs++) await run();
  return (runs * 1000) / (performance.now() - startMs);
}
