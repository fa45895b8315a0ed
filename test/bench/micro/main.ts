import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const HARNESS = new Set(['main.js', 'measure.js', 'batches.js']);

/** Runs every micro-benchmark below this folder whose path contains `part`. */
export async function runMicroBenchmarks(part: string): Promise<void> {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js') && !HARNESS.has(file) && file.includes(part))
    .sort();
  for (const file of files) await import(join(import.meta.dirname, file));
}
