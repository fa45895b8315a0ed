import { storedSignal } from '../../core/stored.js';
import type { QueryMode } from './tabs.js';

/** A query that was run in this browser. */
export interface QueryRun {
  readonly text: string;
  readonly mode: QueryMode;
  readonly database: string;
  /** When it was run, milliseconds since 1970. */
  readonly atMs: number;
  readonly tookMs: number;
  readonly rowCount: number;
  /** Empty if it succeeded. */
  readonly error: string;
  readonly isFavourite: boolean;
}

const RUNS_MAX = 500;
const ERROR_LENGTH_MAX = 200;
const TEXT_LENGTH_MAX = 100_000;

/** Runs of this browser, newest first, each text once. */
export const runs = storedSignal<readonly QueryRun[]>('query-runs', [], isRuns);

/** Adds a run. A text that was run before keeps its star. */
export function recordRun(run: Omit<QueryRun, 'isFavourite'>): void {
  if (run.text.length > TEXT_LENGTH_MAX) return;
  const isSame = ({ text, mode }: QueryRun): boolean => text === run.text && mode === run.mode;
  const before = runs.value.find(isSame);
  const added = { ...run, error: run.error.slice(0, ERROR_LENGTH_MAX), isFavourite: before?.isFavourite ?? false };
  runs.value = shortened([added, ...runs.value.filter((other) => !isSame(other))]);
}

/** Sets or removes the star of a run. */
export function toggleFavourite(run: QueryRun): void {
  runs.value = runs.value.map((other) => (other === run ? { ...run, isFavourite: !run.isFavourite } : other));
}

/** Adds runs that were exported from a browser. @throws Error if the text is none. */
export function importRuns(text: string): void {
  const imported: unknown = JSON.parse(text);
  if (!isRuns(imported)) throw new Error('The file contains no exported history.');
  const known = new Set(runs.value.map((run) => run.mode + run.text));
  runs.value = shortened([...runs.value, ...imported.filter((run) => !known.has(run.mode + run.text))]);
}

/** Removes all runs without a star. */
export function clearRuns(): void {
  runs.value = runs.value.filter(({ isFavourite }) => isFavourite);
}

/** Removes the oldest runs that have no star. */
function shortened(all: readonly QueryRun[]): readonly QueryRun[] {
  let excess = all.length - RUNS_MAX;
  if (excess <= 0) return all;
  return all
    .toReversed()
    .filter(({ isFavourite }) => isFavourite || excess-- <= 0)
    .toReversed();
}

function isRuns(value: unknown): value is readonly QueryRun[] {
  return Array.isArray(value) && value.every(isRun);
}

function isRun(value: unknown): boolean {
  const run = (value ?? {}) as Partial<QueryRun>;
  const areTexts = [run.text, run.database, run.error].every((text) => typeof text === 'string');
  const areNumbers = [run.atMs, run.tookMs, run.rowCount].every((number) => typeof number === 'number');
  return (
    areTexts && areNumbers && (run.mode === 'sql' || run.mode === 'promql') && typeof run.isFavourite === 'boolean'
  );
}
