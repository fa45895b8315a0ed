import { parameters } from '../../core/route.js';
import { promData, queryInstant } from '../../data/promql.js';
import { runSql } from '../../data/sql.js';
import { cellText } from '../../data/sql-result.js';
import { onlyReads } from '../../data/statements.js';
import type { TimeRange } from '../../time/range.js';
import { zone } from '../../time/zones.js';
import type { DashboardVariable } from './document.js';
import { expanded, type MacroValues } from './macros.js';

/** Values that a list has at most. */
const VALUES_MAX = 1000;
const LABEL_VALUES = /^\s*label_values\(\s*(?:(.+),)?\s*([A-Za-z_][\w.]*)\s*\)\s*$/s;

/** Loads the values that a variable can have. @throws RequestError, or an Error that says what is wrong with its query. */
export async function loadValues(
  { mode, query }: DashboardVariable,
  values: MacroValues,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (mode === 'list') return unique(query.split(',').map((value) => value.trim()));
  const text = expanded(query, mode, values);
  return unique(await (mode === 'sql' ? fromSql(text, signal) : fromPromql(text, values.range, signal)));
}

async function fromSql(text: string, signal: AbortSignal): Promise<string[]> {
  if (!onlyReads(text)) throw new Error('A variable may only read.');
  const rows = await runSql(text, { signal, limit: VALUES_MAX, isReadOnly: true });
  if (rows.columns.length === 0) return [];
  return Array.from({ length: rows.rowCount }, (_, row) => cellText(rows.value(0, row), rows.columns[0], zone.value));
}

async function fromPromql(text: string, range: TimeRange, signal: AbortSignal): Promise<readonly string[]> {
  const match = LABEL_VALUES.exec(text);
  if (match === null) {
    const { series } = await queryInstant(text, range.toMs, { signal, limit: VALUES_MAX });
    return series.flatMap(({ labels }) => Object.values(labels).slice(0, 1));
  }
  const [, selector, label] = match;
  const search = new URLSearchParams({
    start: String(range.fromMs / 1000),
    end: String(range.toMs / 1000),
    limit: String(VALUES_MAX),
  });
  if (selector !== undefined) search.set('match[]', selector.trim());
  return promData<readonly string[]>(`label/${encodeURIComponent(label)}/values`, search, signal);
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)].filter((value) => value !== '').slice(0, VALUES_MAX);
}

/** Name of the parameter of the address that has the choice of a variable. */
export function variableParameter(name: string): string {
  return `var-${name}`;
}

/** Returns values as the parameter of the address has them: a comma within a value is `%2C`. */
export function linkText(values: readonly string[]): string {
  return values.map((value) => value.replaceAll('%', '%25').replaceAll(',', '%2C')).join(',');
}

/** Returns the values of a variable that the address names, several between commas; undefined if it names none. */
export function linkedValues(name: string): readonly string[] | undefined {
  const text = parameters.value.get(variableParameter(name));
  if (text === null || text === '') return undefined;
  return text
    .split(',')
    .slice(0, VALUES_MAX)
    .map((value) => value.replaceAll('%2C', ',').replaceAll('%25', '%'));
}
