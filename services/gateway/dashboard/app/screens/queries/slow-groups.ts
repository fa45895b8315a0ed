import { fingerprintOf } from './fingerprint.js';

/** A query that took long, as the server has recorded it. */
export interface SlowRun {
  /** Start, in milliseconds since 1970. */
  readonly startMs: number;
  readonly costMs: number;
  readonly query: string;
  readonly isPromql: boolean;
  readonly database: string;
  readonly user: string;
  /** Empty if it was not recorded. */
  readonly plan: string;
}

/** Slow queries that differ only in their literals. */
export interface SlowGroup {
  readonly fingerprint: string;
  readonly isPromql: boolean;
  readonly database: string;
  readonly count: number;
  readonly totalMs: number;
  readonly averageMs: number;
  readonly p95Ms: number;
  readonly maxMs: number;
  readonly lastMs: number;
  /** The slowest first. */
  readonly runs: readonly SlowRun[];
}

/** Groups queries by database and text without literals. Groups that took most time come first. */
export function groupSlowRuns(runs: readonly SlowRun[]): SlowGroup[] {
  const byKey = new Map<string, { readonly fingerprint: string; readonly runs: SlowRun[] }>();
  for (const run of runs) {
    const fingerprint = fingerprintOf(run.query, run.isPromql);
    const key = `${run.isPromql} ${run.database}\n${fingerprint}`;
    const known = byKey.get(key);
    if (known === undefined) byKey.set(key, { fingerprint, runs: [run] });
    else known.runs.push(run);
  }
  return [...byKey.values()].map(groupOf).sort((a, b) => b.totalMs - a.totalMs);
}

function groupOf({
  fingerprint,
  runs,
}: {
  readonly fingerprint: string;
  readonly runs: readonly SlowRun[];
}): SlowGroup {
  const sorted = [...runs].sort((a, b) => b.costMs - a.costMs);
  const [slowest] = sorted;
  const totalMs = runs.reduce((sum, { costMs }) => sum + costMs, 0);
  return {
    fingerprint,
    isPromql: slowest.isPromql,
    database: slowest.database,
    count: runs.length,
    totalMs,
    averageMs: totalMs / runs.length,
    // The nearest rank, from the slow end.
    p95Ms: sorted[sorted.length - Math.ceil(sorted.length * 0.95)].costMs,
    maxMs: slowest.costMs,
    lastMs: Math.max(...runs.map(({ startMs }) => startMs)),
    runs: sorted,
  };
}
