import type { TimeRange } from '../time/range.js';
import { queryExemplars, type PromExemplar } from './promql.js';
import { database } from './sql.js';
import { useLoaded } from './use-loaded.js';

/** In a longer range the diamonds of exemplars would hide each other. */
const RANGE_MS_MAX = 24 * 3_600_000;

/** The exemplars of a query, which arrive after its values. */
export interface LoadedExemplars {
  readonly exemplars: readonly PromExemplar[];
  /** Why they could not be loaded; empty if they could. */
  readonly failure: string;
}

const NONE: LoadedExemplars = { exemplars: [], failure: '' };

/** Loads the exemplars of a query, if its range is at most a day. @param query undefined: none. */
export function useExemplars(query: string | undefined, range: TimeRange): LoadedExemplars {
  const isShort = range.toMs - range.fromMs <= RANGE_MS_MAX;
  const isWanted = query !== undefined && isShort;
  const { value, failure } = useLoaded(isWanted ? (signal) => queryExemplars(query, range, signal) : undefined, [
    query,
    range,
    isWanted,
    database(),
  ]);
  return isWanted ? { exemplars: value ?? NONE.exemplars, failure } : NONE;
}
