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

/** A column of a TQL result. */
export type TqlColumn =
  | { readonly kind: 'time'; readonly name: string; readonly type: string; readonly unit: TimeUnit }
  | { readonly kind: 'label'; readonly name: string; readonly label: string }
  /** @param part index of the field's query. */
  | { readonly kind: 'value' | 'histogram'; readonly name: string; readonly part: number }
  | { readonly kind: 'text'; readonly name: string };

/** Result of a TQL query, from which its columns are derived. */
export interface TqlResultShape {
  readonly expr: Expr;
  readonly subjects: Subjects;
  /** The query of each field; the query itself if there is only one field. */
  readonly parts: readonly Expr[];
  readonly series: readonly (readonly StepSeries[])[];
  readonly alias: string | undefined;
  readonly histogramColumn: string;
}

const TIME = { kind: 'time', name: 'time', type: 'TimestampMillisecond', unit: 'ms' } as const;
const RANKING_AGGREGATIONS = new Set(['topk', 'bottomk', 'limitk', 'limit_ratio']);

/** Returns the columns of a scalar result. */
export function scalarColumns(subjects: Subjects, alias: string | undefined): TqlColumn[] {
  return withTime(timeColumn(firstSubject(subjects)), { kind: 'value', name: alias ?? 'value', part: 0 }, alias);
}

/** Returns the columns of a string result. */
export function textColumns(alias: string | undefined): TqlColumn[] {
  return withTime(TIME, { kind: 'text', name: alias ?? 'value' }, alias);
}

function withTime(time: TqlColumn, value: TqlColumn, alias: string | undefined): TqlColumn[] {
  return alias === undefined ? [time, value] : [value, time];
}

/** Returns the columns of a vector result. An alias in the statement moves the values to the front. */
export function vectorColumns(result: TqlResultShape): TqlColumn[] {
  const { expr, subjects, alias } = result;
  const subject = firstSubject(subjects);
  const time = timeColumn(subject);
  const values = valueColumns(result, subject);
  const labels = labelColumns(result, subject);
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

/** Returns the order of the columns. A filter that only removes series has the order of its operand. */
function orderOf(expr: Expr): Order {
  switch (expr.kind) {
    case 'paren':
      return orderOf(expr.expr);
    case 'vectorSelector':
      return 'as stored';
    case 'aggregation':
      return RANKING_AGGREGATIONS.has(expr.op) || expr.op === 'count_values' ? 'values first' : 'labels first';
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

/** Returns the operand of a filter that provides the values. */
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
  { expr, parts, subjects, series, alias, histogramColumn }: TqlResultShape,
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
    // A metric that has only histograms has no column of numbers.
    const isStored = fields === undefined || subject?.table.columns.some((column) => column.name === own) === true;
    return isStored ? [value, histogram] : [histogram];
  });
}

/** Returns the labels of the result: those that follow from the expression, and others that the series have. */
function labelColumns({ expr, series, subjects }: TqlResultShape, subject: Subject | undefined): TqlColumn[] {
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

/** Returns the labels by which the result is grouped, under their names in the result. */
function groupingOf(expr: Expr): readonly string[] {
  switch (expr.kind) {
    case 'paren':
      return groupingOf(expr.expr);
    case 'binary':
      return groupingOf(filtered(expr));
    case 'call':
      return expr.args.flatMap(groupingOf);
    case 'aggregation':
      if (RANKING_AGGREGATIONS.has(expr.op)) return groupingOf(expr.expr);
      return expr.isWithout ? [] : expr.grouping;
    default:
      return [];
  }
}

function inTableOrder(table: Table, columns: readonly TqlColumn[]): TqlColumn[] {
  const labels = labelsOf(table);
  const tags = new Map(tagsOf(table).map(({ name }, i) => [labels[i], name]));
  const positions = new Map(table.columns.map(({ name }, i) => [name, i]));
  const last = positions.size + fieldsOf(table).length;
  const positionOf = (column: TqlColumn): number => {
    const name = column.kind === 'label' ? (tags.get(column.label) ?? column.name) : column.name;
    return positions.get(name) ?? last;
  };
  return [...columns].sort((a, b) => positionOf(a) - positionOf(b));
}

/** Returns the selector whose values the expression filters or reorders; undefined if the expression computes new values. */
function keptSelector(expr: Expr): VectorSelector | undefined {
  switch (expr.kind) {
    case 'vectorSelector':
      return expr;
    case 'paren':
      return keptSelector(expr.expr);
    case 'aggregation':
      return RANKING_AGGREGATIONS.has(expr.op) ? keptSelector(expr.expr) : undefined;
    case 'call': {
      const argument = expr.args.find((arg) => typeOf(arg) === 'vector');
      return argument !== undefined && expr.func.keepsValues === true ? keptSelector(argument) : undefined;
    }
    case 'binary':
      return isFilter(expr) ? keptSelector(filtered(expr)) : undefined;
    default:
      return undefined;
  }
}
