import { AlmanacError } from '#shared/errors/almanac-error';
import { canonicalTtl } from '#shared/schema/ttl';

import type { RequestContext } from '../../request-context.js';

/** Hints of a client about tables that its write creates. */
export interface Hints {
  readonly autoCreateTable: boolean | undefined;
  /** Table options by name. */
  readonly tableOptions: Readonly<Record<string, string>>;
  /** Physical table for metrics. */
  readonly physicalTable?: string | undefined;
}

/** Hints that are table options; all others are ignored. */
const OPTION_HINTS = [
  'ttl',
  'append_mode',
  'merge_mode',
  'skip_wal',
  'comment',
  'compaction.twcs.time_window',
] as const;
const NO_HINTS: Hints = { autoCreateTable: undefined, tableOptions: {} };
const SINGLE_HINTS = ['auto_create_table', 'physical_table', ...OPTION_HINTS];

/** Reads the hints of a request. @throws `invalid_arguments` for a value that is not valid. */
export function hintsOf(context: RequestContext): Hints {
  const given = givenHints(context);
  if (given.size === 0) return NO_HINTS;
  const tableOptions: Record<string, string> = {};
  for (const name of OPTION_HINTS) {
    const value = given.get(name);
    if (value !== undefined) tableOptions[name] = checkedOption(name, value);
  }
  const physicalTable = given.get('physical_table');
  return {
    autoCreateTable: booleanOf('auto_create_table', given.get('auto_create_table')),
    tableOptions,
    physicalTable,
  };
}

function givenHints(context: RequestContext): ReadonlyMap<string, string> {
  const all = context.productHeader('hints');
  const given = new Map<string, string>();
  if (all !== undefined) {
    for (const item of all.split(',')) {
      const equals = item.indexOf('=');
      if (equals > 0) given.set(item.slice(0, equals).trim(), item.slice(equals + 1).trim());
    }
    return given;
  }
  for (const name of SINGLE_HINTS) {
    const value = context.productHeader(`hint-${name}`);
    if (value !== undefined) given.set(name, value.trim());
  }
  return given;
}

/** Checks the value of a table option that a client names. @throws `invalid_arguments`. */
export function checkedOption(name: (typeof OPTION_HINTS)[number], value: string): string {
  if (name === 'ttl') return canonicalTtl(value);
  if (name === 'append_mode' || name === 'skip_wal') return String(booleanOf(name, value));
  return value;
}

function booleanOf(name: string, value: string | undefined): boolean | undefined {
  if (value === undefined) return undefined;
  if (value === 'true') return true;
  if (value === 'false') return false;
  throw new AlmanacError('invalid_arguments', `hint ${name} must be true or false, not "${value}"`);
}
