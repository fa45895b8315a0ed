import { AlmanacError } from '#shared/errors/almanac-error';

import { checkTypes, type SetOption } from '../../syntax/options.js';
import { checkSemanticOption, isSemanticKey } from '../../syntax/semantic-options.js';
import type { AlteredTable, TableChange } from './table-change.js';

/** Options that determine which rows exist, and which of them are versions of one row. */
const FIXED_OPTIONS = new Set(['merge_mode', 'physical_metric_table', 'on_physical_table', 'regions']);

/** Options that can only be switched on. */
const SWITCHES = new Set(['append_mode', 'skip_wal']);

/**
 * Returns the changes that set options.
 *
 * @throws `invalid_arguments` for options of both kinds: those that say what rows mean do not change the table's rows
 */
export function optionsSet(options: readonly SetOption[]): TableChange[] {
  const semantic = options.filter(({ key }) => isSemanticKey(key));
  if (semantic.length === 0 || semantic.length === options.length) return options.map(optionSet);
  const text = '`greptime.semantic.*` options must be altered separately from other table options';
  throw new AlmanacError('invalid_arguments', `Invalid table option request: ${text}`);
}

function optionSet({ key, value }: SetOption): TableChange {
  return {
    // Metadata checks that segments have no deletions or versions, which would hide nothing any more.
    isOfOldRows: key === 'append_mode',
    isOfLogicalTables: isSemanticKey(key),
    apply(form, { name }) {
      if (isSemanticKey(key)) checkSemanticOption({ key, value }, { name, columns: form.columns });
      const isSwitchedOff = key === 'skip_wal' && value === 'false';
      if (FIXED_OPTIONS.has(key) || isSwitchedOff) throw invalidOption('set', key, `, value: ${value}`);
      if (key === 'append_mode') {
        checkTypes(form.columns, { append_mode: value });
        checkAppendMode(form.options, value);
      }
      return { ...form, options: withOption(form.options, key, value) };
    },
  };
}

function withOption(before: AlteredTable['options'], key: string, value: string): AlteredTable['options'] {
  const isReplaced = (name: string): boolean =>
    // Rows are not merged any more, so that there is no way to merge them.
    name === key || (key === 'append_mode' && value === 'true' && name === 'merge_mode');
  const others = Object.fromEntries(Object.entries(before).filter(([name]) => !isReplaced(name)));
  if (key.startsWith('compaction.twcs.')) {
    return { ...others, 'compaction.type': 'twcs', ...(value === '' ? {} : { [key]: value }) };
  }
  return { ...others, [key]: value };
}

function checkAppendMode(options: Readonly<Record<string, string>>, value: string): void {
  if (options['append_mode'] === 'true' && value !== 'true') {
    throw new AlmanacError('invalid_arguments', 'Only allow changing append_mode from false to true');
  }
}

/** Returns the change that removes an option. */
export function optionUnset(key: string): TableChange {
  return {
    isOfLogicalTables: isSemanticKey(key),
    apply(form) {
      if (FIXED_OPTIONS.has(key) || SWITCHES.has(key)) throw invalidOption('unset', key, '');
      return { ...form, options: Object.fromEntries(Object.entries(form.options).filter(([name]) => name !== key)) };
    },
  };
}

function invalidOption(verb: string, key: string, value: string): AlmanacError {
  const text = `Invalid ${verb} table option request: Invalid ${verb} region option request, key: ${key}${value}`;
  const why = FIXED_OPTIONS.has(key) ? 'it is fixed when the table is made' : 'it can only be switched on';
  return new AlmanacError('invalid_arguments', `${text}: ${why}`);
}
