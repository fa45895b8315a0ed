import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { checkCall, type Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { labelOfColumn } from '#shared/schema/label-column';
import { tagsOf } from '#shared/schema/table-schema';

import type { Expr, VectorSelector } from '../../promql/syntax/ast.js';
import { FIELD_LABEL, selectedFields } from '../../series/field-matchers.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { mapSelectors, selectorsOf } from '../../promql/syntax/selectors.js';
import { sampleFields } from '../../samples/metric-table.js';
import { sourceOf } from '../../snapshot/logical-table.js';
import type { TableNames } from '../plan/table-names.js';
import type { PromSession } from '../../promql/engine.js';
import { isSystemTable } from '../system-tables/system-table.js';

/** The table or metric that a selector names. */
export interface Subject {
  readonly table: Table;
  /** Names of the selected fields; at least one. */
  readonly fields: readonly string[];
}

/** The subject of each selector of a query; undefined if no table or metric has that name. */
export type Subjects = ReadonlyMap<VectorSelector, Subject | undefined>;

/** Largest number of fields that one statement evaluates. */
const FIELDS_MAX = 256;

/** Collaborators of `subjectsOf`. */
export interface SubjectDeps {
  readonly names: TableNames;
  readonly clock: Clock;
}

/** Resolves the selectors of a query. @throws `invalid_arguments` when a selector names no metric, or an unknown field. */
export async function subjectsOf(
  expr: Expr,
  session: PromSession,
  { names, clock }: SubjectDeps,
  call: Call,
): Promise<Subjects> {
  const slices = new Slices(clock, { check: () => checkCall(call) });
  const subjects = new Map<VectorSelector, Subject | undefined>();
  for (const { selector } of selectorsOf(expr)) {
    const metric = metricOf(selector);
    const { database } = session.resolveDatabase(selector.matchers);
    const table = metric === undefined ? undefined : await names.find(database, metric, call);
    subjects.set(
      selector,
      table === undefined || isSystemTable(table) ? undefined : await subjectOf(table, selector, slices),
    );
  }
  return subjects;
}

function metricOf({ matchers }: VectorSelector): string | undefined {
  const naming = matchers.filter(({ name }) => name === METRIC_NAME);
  const other = naming.find(({ op }) => op !== '=');
  if (other === undefined) return naming.at(-1)?.value;
  throw new AlmanacError('invalid_arguments', `Matcher operator ${other.op} is not supported for ${METRIC_NAME}`);
}

async function subjectOf(table: Table, { matchers }: VectorSelector, slices: Slices): Promise<Subject | undefined> {
  const all = sampleFields(sourceOf(table)?.physical ?? table);
  for (const { name, op, value } of matchers) {
    if (name !== FIELD_LABEL || op !== '=' || all.some((field) => field.name === value)) continue;
    throw new AlmanacError('invalid_arguments', `Cannot find column ${value}`);
  }
  const fields = (await selectedFields(all, matchers, slices)).map((field) => field.name);
  return fields.length === 0 ? undefined : { table, fields };
}

/** Returns the label names of a table's tags, in the table's order. */
export function labelsOf(table: Table): string[] {
  const source = sourceOf(table);
  if (source === undefined) return tagsOf(table).map(({ name }) => name);
  return tagsOf(table).map(({ name }) => labelOfColumn(source.columns.get(name) ?? name));
}

/** A query of one field of each table. */
export interface FieldQuery {
  readonly expr: Expr;
  /** Whether the statement is evaluated as several queries, of which this is one. */
  readonly isPart: boolean;
}

/**
 * Splits a query into one for each field of its tables: the first fields together, then the second ones, and so on. A table
 * with fewer fields repeats its last one.
 *
 * @throws `invalid_arguments` when the query cannot be evaluated for several fields
 */
export function fieldQueries(expr: Expr, subjects: Subjects): FieldQuery[] {
  const counts = Array.from(subjects.values(), (subject) => subject?.fields.length ?? 0);
  const count = Math.max(1, ...counts);
  if (count === 1) return [{ expr, isPart: false }];
  if (ranksValues(expr)) {
    const text = 'Unsupported expr type: topk, bottomk or count_values on multi-value input';
    throw new AlmanacError('invalid_arguments', text);
  }
  if (count > FIELDS_MAX) {
    const text = `query selects ${count} fields, the limit is ${FIELDS_MAX}: select fewer with __field__`;
    throw new AlmanacError('invalid_arguments', text);
  }
  return Array.from({ length: count }, (_, i) => ({ expr: ofField(expr, subjects, i), isPart: true }));
}

function ofField(expr: Expr, subjects: Subjects, i: number): Expr {
  return mapSelectors(expr, (selector) => {
    const fields = subjects.get(selector)?.fields ?? [];
    if (fields.length < 2) return selector;
    const field = fields[Math.min(i, fields.length - 1)];
    const others = selector.matchers.filter(({ name }) => name !== FIELD_LABEL);
    // The metric name matcher must stay last.
    return { ...selector, matchers: [{ name: FIELD_LABEL, op: '=', value: field }, ...others] };
  });
}

/** Reports whether the expression compares series with each other, which is undefined across fields. */
function ranksValues(expr: Expr): boolean {
  switch (expr.kind) {
    case 'aggregation':
      return expr.op === 'topk' || expr.op === 'bottomk' || expr.op === 'count_values' || ranksValues(expr.expr);
    case 'paren':
    case 'unary':
    case 'subquery':
      return ranksValues(expr.expr);
    case 'binary':
      return ranksValues(expr.lhs) || ranksValues(expr.rhs);
    case 'call':
      return expr.args.some(ranksValues);
    default:
      return false;
  }
}
