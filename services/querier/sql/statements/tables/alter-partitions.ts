import type { Table } from '#shared/contracts/gen/common';
import type { AlterTableRequest } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { ON_PHYSICAL_TABLE } from '#shared/schema/metric-table';
import { partitionsOf, withPartitions } from '#shared/schema/partitions';

import type { Cursor } from '../../syntax/cursor.js';
import {
  checkPartitions,
  parseNames,
  parsePartitions,
  parseRule,
  parseRules,
  ruleText,
  storedPartitions,
  type PartitionRule,
} from '../../syntax/partition-rules.js';

type Options = AlterTableRequest['options'];

/** Returns a table's options with other partitions. @param fullName of the table, for messages. @throws `invalid_arguments`. */
export type PartitionChange = (options: Options, table: Table, fullName: string) => Options;

/**
 * Parses a change of partitions: `PARTITION ON COLUMNS ..`, `SPLIT PARTITION ..`, `MERGE PARTITION ..`, `REPARTITION ..`. Returns
 * undefined, and reads nothing, where none begins.
 */
export function parsePartitionChange(cursor: Cursor): PartitionChange | undefined {
  const change = parseChange(cursor);
  if (change !== undefined && cursor.accept('WITH')) skipWaitOptions(cursor);
  return change;
}

function parseChange(cursor: Cursor): PartitionChange | undefined {
  if (cursor.accept('PARTITION', 'ON', 'COLUMNS')) {
    const { columns, rules } = parsePartitions(cursor);
    return (options, table) => {
      if (partitionsOf(options) !== undefined) throw invalid(`table "${table.name}" has partitions: use REPARTITION`);
      return replaced(options, table, columns, rules);
    };
  }
  if (cursor.accept('SPLIT', 'PARTITION')) return parseReplacement(cursor, cursor.accept.bind(cursor));
  if (cursor.accept('REPARTITION')) return parseReplacement(cursor, undefined);
  if (!cursor.accept('MERGE', 'PARTITION')) return undefined;
  const from = parseRules(cursor);
  return changed(from, [{ kind: 'OR', parts: from }]);
}

/** `(rule, ..) [ON COLUMNS (..)] INTO (rule, ..)`. @param accept if the columns may change. */
function parseReplacement(cursor: Cursor, accept: ((...words: string[]) => boolean) | undefined): PartitionChange {
  const from = parseRules(cursor);
  const columns = accept?.('ON', 'COLUMNS') === true ? parseNames(cursor) : undefined;
  cursor.expect('INTO');
  return changed(from, parseRules(cursor), columns);
}

function changed(
  from: readonly PartitionRule[],
  into: readonly PartitionRule[],
  newColumns?: readonly string[],
): PartitionChange {
  return (options, table, fullName) => {
    if (ON_PHYSICAL_TABLE in options) {
      throw new AlmanacError('unsupported', 'Not supported: REPARTITION on logical tables');
    }
    const { columns, rules } = partitionsOf(options) ?? { columns: [], rules: [] };
    const wanted = [...columns, ...(newColumns ?? []).filter((name) => !columns.includes(name))];
    checkColumns(into, wanted);
    const removed = new Set(from.map((rule) => ruleText(rule)));
    for (const text of removed) {
      if (rules.includes(text)) continue;
      throw invalid(`partition expression '${text}' does not exist in table ${fullName}`);
    }
    // The new partitions are where the first of the old ones was.
    const at = rules.findIndex((text) => removed.has(text));
    const kept = (part: readonly string[]): PartitionRule[] => part.filter((text) => !removed.has(text)).map(parseRule);
    return replaced(options, table, wanted, [...kept(rules.slice(0, at)), ...into, ...kept(rules.slice(at))]);
  };
}

function checkColumns(rules: readonly PartitionRule[], columns: readonly string[]): void {
  for (const rule of rules) {
    if (rule.kind !== 'compare') checkColumns(rule.parts, columns);
    else if (!columns.includes(rule.column)) {
      throw new AlmanacError('invalid_arguments', `Cannot find column by name: ${rule.column}`);
    }
  }
}

function replaced(
  options: Options,
  table: Table,
  columns: readonly string[],
  rules: readonly PartitionRule[],
): Options {
  for (const name of columns) {
    if (table.columns.some((column) => column.name === name)) continue;
    throw new AlmanacError('invalid_arguments', `Partition column "${name}" not defined`);
  }
  checkPartitions({ columns, rules });
  return withPartitions(options, storedPartitions(columns, rules));
}

const WAIT_OPTIONS = new Set(['timeout', 'wait']);

/** The change is complete when the statement returns, so that there is nothing to wait for. */
function skipWaitOptions(cursor: Cursor): void {
  cursor.expectSymbol('(');
  while (!cursor.acceptSymbol(')')) {
    const key = cursor.name('option').toLowerCase();
    if (!WAIT_OPTIONS.has(key)) {
      throw new AlmanacError('invalid_arguments', `Unrecognized option key: ${key.slice(0, 60)}: use TIMEOUT or WAIT`);
    }
    cursor.expectSymbol('=');
    const { from, to } = cursor.skipExpression();
    if (from === to) throw cursor.unexpected('value');
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `Invalid partition rule: ${text}`);
}
