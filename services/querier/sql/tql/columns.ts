import type { Table } from '#shared/contracts/gen/common';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { fieldsOf, tagsOf, timeIndexOf } from '#shared/schema/table-schema';

import { typeOf, unwrapped, type BinaryExpr, type Expr, type VectorSelector } from '../../promql/syntax/ast.js';
import { compareBytes } from '../../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { printExpr } from '../../promql/syntax/print.js';
import type { StepSeries } from '../../promql/runtime/samples.js';
import { resultLabels } from './result-labels.js';
import { labelsOf, type Subject, type Subjects } from './subjects.js';

/** A column of what a query gave. */
export type TqlColumn =
  | { readonly kind: 'time'; readonly name: string; readonly type: string; readonly unit: TimeUnit }
  | { readonly kind: 'label'; readonly name: string; readonly label: string }
  /** @param part number of the query among those of the single fields. */
  | { readonly kind: 'value' | 'histogram'; readonly name: string; readonly part: number }
  | { readonly kind: 'text'; readonly name: string };

/** What a query gave, for its columns. */
export interface ColumnsOf {
  readonly expr: Expr;
  readonly subjects: Subjects;
  /** The query of each field; the query itself if there is only one. */
  readonly parts: readonly Expr[];
  readonly series: readonly (readonly StepSeries[])[];
  readonly alias: string | undefined;
  readonly histogramColumn: string;
}

const TIME = { kind: 'time', name: 'time', type: 'TimestampMillisecond', unit: 'ms' } as const;
/** Functions that give the values of their argument, or something that is of the same kind. */
const KEEPING = new Set(
  'sort sort_desc sort_by_label sort_by_label_desc label_replace label_join histogram_quantile absent'.split(' '),
);
const RANKING = new Set(['topk', 'bottomk', 'limitk', 'limit_ratio']);

/** The columns of a scalar. */
export function scalarColumns(subjects: Subjects, alias: string | undefined): TqlColumn[] {
  return withTime(timeColumn(firstSubject(subjects)), { kind: 'value', name: alias ?? 'value', part: 0 }, alias);
}

/** The columns of a text. */
export function textColumns(alias: string | undefined): TqlColumn[] {
  return withTime(TIME, { kind: 'text', name: alias ?? 'value' }, alias);
}

function withTime(time: TqlColumn, value: TqlColumn, alias: string | undefined): TqlColumn[] {
  return alias === undefined ? [time, value] : [value, time];
}

/** The columns of a vector; a name that the statement gives stands before all. */
export function vectorColumns(of: ColumnsOf): TqlColumn[] {
  const { expr, subjects, alias } = of;
  const subject = firstSubject(subjects);
  const time = timeColumn(subject);
  const values = valueColumns(of, subject);
  const labels = labelColumns(of, subject);
  if (alias !== undefined) return [...values, ...labels, time];
  switch (subject === undefined ? 'time first' : orderOf(expr)) {
    case 'as stored':
      return subject === undefined ? [] : inTableOrder(subject.table, [time, ...values, ...labels]);
    case 'values first': {
      const inner = unwrapped(expr);
      const isCount = inner.kind === 'aggregation' && inner.op === 'count_values' && inner.param?.kind === 'string';
      const last = labels.filter(({ name }) => isCount && inner.param.value === name);
      return [...values, ...labels.filter((it) => !last.includes(it)), time, ...last];
    }
    case 'labels first':
      return [...labels, time, ...values];
    case 'by name':
      return [time, ...[...values, ...labels].sort((a, b) => compareBytes(a.name, b.name))];
    case 'time first':
      return [time, ...values, ...labels];
  }
}

type Order = 'as stored' | 'values first' | 'labels first' | 'time first' | 'by name';

/** Where labels and time stand: what only leaves rows out has its columns from what it filters. */
function orderOf(expr: Expr): Order {
  switch (expr.kind) {
    case 'paren':
      return orderOf(expr.expr);
    case 'vectorSelector':
      return 'as stored';
    case 'aggregation':
      return RANKING.has(expr.op) || expr.op === 'count_values' ? 'values first' : 'labels first';
    case 'binary':
      if (expr.op === 'or') return 'by name';
      return isFilter(expr) ? orderOf(filtered(expr)) : 'labels first';
    case 'call':
      return expr.func.name === 'histogram_quantile' ? orderOf(expr.args[1]) : 'time first';
    default:
      return 'time first';
  }
}

const FILTERS = new Set(['==', '!=', '<', '<=', '>', '>=', 'and', 'or', 'unless']);

function isFilter({ op, isBool }: BinaryExpr): boolean {
  return !isBool && FILTERS.has(op);
}

/** The side of a filter that gives the values. */
function filtered({ lhs, rhs }: BinaryExpr): Expr {
  return typeOf(lhs) === 'vector' ? lhs : rhs;
}

function firstSubject(subjects: Subjects): Subject | undefined {
  return [...subjects.values()].find((it) => it !== undefined);
}

function timeColumn(subject: Subject | undefined): TqlColumn {
  if (subject === undefined) return TIME;
  const { name, type } = timeIndexOf(subject.table);
  return { kind: 'time', name, type, unit: dataType(type).timeUnit ?? 'ns' };
}

function valueColumns(
  { expr, parts, subjects, series, alias, histogramColumn }: ColumnsOf,
  subject: Subject | undefined,
): TqlColumn[] {
  const kept = keptSelector(expr);
  const fields = kept === undefined ? undefined : subjects.get(kept)?.fields;
  return parts.flatMap((part, i): TqlColumn[] => {
    const own = subject === undefined ? 'value' : (fields?.[Math.min(i, fields.length - 1)] ?? printExpr(part));
    const value: TqlColumn = { kind: 'value', name: alias !== undefined && parts.length === 1 ? alias : own, part: i };
    const hasHistograms = series[i].some(({ histograms }) => histograms !== undefined);
    if (!hasHistograms) return [value];
    const name = parts.length === 1 ? histogramColumn : `${histogramColumn} ${i + 1}`;
    const histogram: TqlColumn = { kind: 'histogram', name, part: i };
    // A metric of histograms alone has no column of numbers.
    const isStored = fields === undefined || subject?.table.columns.some((column) => column.name === own) === true;
    return isStored ? [value, histogram] : [histogram];
  });
}

/** The labels of the result: those that it has to have, and what else the series have. */
function labelColumns({ expr, series, subjects }: ColumnsOf, subject: Subject | undefined): TqlColumn[] {
  const of = (selector: VectorSelector): readonly string[] => {
    const own = subjects.get(selector);
    return own === undefined ? [] : labelsOf(own.table);
  };
  const names = new Set([...resultLabels(expr, of), ...series.flat().flatMap(({ labels }) => labels.names)]);
  names.delete(METRIC_NAME);
  const ofTable = subject === undefined ? [] : labelsOf(subject.table);
  const first = [...groupingOf(expr), ...ofTable].filter((label) => names.delete(label));
  return [...first, ...[...names].sort(compareBytes)].map((label) => ({ kind: 'label', name: label, label }));
}

/** The labels by which the series of the result were grouped, as they are named there. */
function groupingOf(expr: Expr): readonly string[] {
  switch (expr.kind) {
    case 'paren':
      return groupingOf(expr.expr);
    case 'binary':
      return groupingOf(filtered(expr));
    case 'call':
      return expr.args.flatMap(groupingOf);
    case 'aggregation':
      if (RANKING.has(expr.op)) return groupingOf(expr.expr);
      return expr.isWithout ? [] : expr.grouping;
    default:
      return [];
  }
}

function inTableOrder(table: Table, columns: readonly TqlColumn[]): TqlColumn[] {
  const labels = labelsOf(table);
  const tags = new Map(tagsOf(table).map(({ name }, i) => [labels[i], name]));
  const places = new Map(table.columns.map(({ name }, i) => [name, i]));
  const last = places.size + fieldsOf(table).length;
  const place = (column: TqlColumn): number => {
    const name = column.kind === 'label' ? (tags.get(column.label) ?? column.name) : column.name;
    return places.get(name) ?? last;
  };
  return [...columns].sort((a, b) => place(a) - place(b));
}

/** The selector whose values the expression gives, only fewer of them or in another order; undefined if it computes. */
function keptSelector(expr: Expr): VectorSelector | undefined {
  switch (expr.kind) {
    case 'vectorSelector':
      return expr;
    case 'paren':
      return keptSelector(expr.expr);
    case 'aggregation':
      return RANKING.has(expr.op) ? keptSelector(expr.expr) : undefined;
    case 'call': {
      const argument = expr.args.find((arg) => typeOf(arg) === 'vector');
      return argument !== undefined && KEEPING.has(expr.func.name) ? keptSelector(argument) : undefined;
    }
    case 'binary':
      return isFilter(expr) ? keptSelector(filtered(expr)) : undefined;
    default:
      return undefined;
  }
}
