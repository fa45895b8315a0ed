import type { RawValue } from './key.js';

/** Where a value comes from, in the order of their strength: a later kind wins. */
export const ORIGIN_KINDS = ['default', 'file', 'environment', 'role environment', 'flag'] as const;

export interface Origin {
  readonly kind: (typeof ORIGIN_KINDS)[number];
  /** For people: `almanac.toml:3:1`, `environment ALMANAC_HTTP__ADDR`, `flag --http-addr`, `default`. */
  readonly place: string;
  /** The value was read from a file of its own, so it is never shown. */
  readonly isSecret: boolean;
}

/** A value for one key, not checked yet. */
export interface Assignment {
  readonly path: string;
  readonly raw: RawValue;
  readonly origin: Origin;
}

/** What one source says: values, and what is wrong or odd about it. */
export interface SourceReading {
  readonly assignments: Assignment[];
  readonly problems: string[];
  readonly warnings: string[];
}

/** Reads a small text file; `undefined` if there is none. */
export type ReadText = (path: string) => string | undefined;

export const DEFAULT_ORIGIN: Origin = { kind: 'default', place: 'default', isSecret: false };

export function emptyReading(): SourceReading {
  return { assignments: [], problems: [], warnings: [] };
}
