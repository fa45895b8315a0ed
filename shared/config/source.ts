import type { RawValue } from './key.js';

/** Kinds of origin in ascending precedence. */
export const ORIGIN_KINDS = ['default', 'file', 'environment', 'role environment', 'flag'] as const;

/** Where a value came from. */
export interface Origin {
  readonly kind: (typeof ORIGIN_KINDS)[number];
  /** For people: `almanac.toml:3:1`, `environment ALMANAC_HTTP__ADDR`, `flag --http-addr`, `default`. */
  readonly place: string;
  /** Whether the value was read from a secret file, and therefore is never printed. */
  readonly isSecret: boolean;
}

/** A value that a source assigns to a key, not validated yet. */
export interface Assignment {
  readonly path: string;
  readonly raw: RawValue;
  readonly origin: Origin;
}

/** Result of reading one source: its assignments, and its problems and warnings. */
export interface SourceReading {
  readonly assignments: Assignment[];
  readonly problems: string[];
  readonly warnings: string[];
}

/** Reads a small text file; returns undefined if it does not exist. */
export type ReadText = (path: string) => string | undefined;

/** Origin of a value that no source sets. */
export const DEFAULT_ORIGIN: Origin = { kind: 'default', place: 'default', isSecret: false };

/** Returns the reading of a source that sets nothing. */
export function emptyReading(): SourceReading {
  return { assignments: [], problems: [], warnings: [] };
}
