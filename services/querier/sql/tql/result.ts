import type { Cell, ValueType } from '#shared/duckdb/chunk-reader';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { OutputColumn } from '#shared/formats/format';
import { UNIT_NS } from '#shared/schema/data-type';

import { NO_LABELS, type Labels } from '../../series/labels.js';
import { FLOAT_SAMPLE, floatSeries, NO_SAMPLE, type StepSeries } from '../../promql/runtime/samples.js';
import { histogramJson } from '../../promql/histogram/histogram-text.js';
import type { TqlColumn } from './columns.js';

/** Rows of one block. */
const BLOCK_ROWS = 2048;
const INT64_MAX = 2n ** 63n - 1n;
const TEXT: ValueType = { name: 'String', kind: 'text' };
const NUMBER: ValueType = { name: 'Float64', kind: 'float64' };
const JSON_TEXT: ValueType = { name: 'Json', kind: 'json' };

/** The result of a query as a table. */
export interface TqlResult {
  readonly columns: readonly OutputColumn[];
  /** Yields cells by column, then row. */
  blocks(): Iterable<readonly Cell[][]>;
}

/** Values of a series at each step, for each of the single-field queries. */
interface Row {
  readonly labels: Labels;
  readonly parts: readonly (StepSeries | undefined)[];
}

/** Steps of a range query. */
export interface ResultSteps {
  readonly startMs: number;
  readonly stepMs: number;
  readonly count: number;
}

/** Returns a row for each series and step with a value; series keep their order. */
export function vectorResult(
  columns: readonly TqlColumn[],
  series: readonly (readonly StepSeries[])[],
  steps: ResultSteps,
): TqlResult {
  const rows = new Map<string, { readonly labels: Labels; readonly parts: (StepSeries | undefined)[] }>();
  for (const [part, all] of series.entries()) {
    for (const one of all) {
      const { key } = one.labels;
      let row = rows.get(key);
      if (row === undefined) rows.set(key, (row = { labels: one.labels, parts: [] }));
      row.parts[part] = one;
    }
  }
  return resultOf(columns, steps, [...rows.values()], undefined);
}

/** Returns a row for each step. */
export function scalarResult(
  columns: readonly TqlColumn[],
  value: Float64Array | string,
  steps: ResultSteps,
): TqlResult {
  if (typeof value === 'string') return resultOf(columns, steps, [{ labels: NO_LABELS, parts: [] }], value);
  const kinds = new Uint8Array(value.length).fill(FLOAT_SAMPLE);
  const one = floatSeries(NO_LABELS, kinds, value, true);
  return resultOf(columns, steps, [{ labels: NO_LABELS, parts: [one] }], undefined);
}

function resultOf(
  columns: readonly TqlColumn[],
  steps: ResultSteps,
  rows: readonly Row[],
  text: string | undefined,
): TqlResult {
  return {
    columns: columns.map((column) => ({ name: column.name, type: typeOfColumn(column) })),
    *blocks() {
      const makers = columns.map((column) => cellMaker(column, steps, text));
      let block: Cell[][] = columns.map(() => []);
      for (const row of rows) {
        for (let step = 0; step < steps.count; step++) {
          if (text === undefined && row.parts.every((part) => part === undefined || part.kinds[step] === NO_SAMPLE)) {
            continue;
          }
          for (const [i, make] of makers.entries()) block[i].push(make(row, step));
          if (block[0].length < BLOCK_ROWS) continue;
          yield block;
          block = columns.map(() => []);
        }
      }
      if (block[0].length > 0) yield block;
    },
  };
}

function typeOfColumn(column: TqlColumn): ValueType {
  switch (column.kind) {
    case 'time':
      return { name: column.type, kind: 'int' };
    case 'value':
      return NUMBER;
    case 'histogram':
      return JSON_TEXT;
    default:
      return TEXT;
  }
}

function cellMaker(
  column: TqlColumn,
  { startMs, stepMs }: ResultSteps,
  text: string | undefined,
): (row: Row, step: number) => Cell {
  switch (column.kind) {
    case 'time': {
      const timeOf = timeMaker(column);
      return (_, step) => timeOf(startMs + step * stepMs);
    }
    case 'label':
      return ({ labels }) => {
        const value = labels.get(column.label);
        return value === '' ? null : value;
      };
    case 'value':
      return ({ parts }, step) =>
        parts[column.part]?.kinds[step] === FLOAT_SAMPLE ? (parts[column.part]?.values[step] ?? null) : null;
    case 'histogram':
      return ({ parts }, step) => {
        const histogram = parts[column.part]?.histograms?.[step];
        return histogram === undefined ? null : histogramJson(histogram);
      };
    case 'text':
      return () => text ?? null;
  }
}

/** Returns a function that converts milliseconds to the unit of a column. */
function timeMaker({ unit, type }: TqlColumn & { readonly kind: 'time' }): (timeMs: number) => Cell {
  if (unit === 'ms') return (timeMs) => timeMs;
  if (unit === 's') return (timeMs) => Math.floor(timeMs / 1000);
  const perMs = 1_000_000n / UNIT_NS[unit];
  return (timeMs) => {
    const count = BigInt(timeMs) * perMs;
    if (count <= INT64_MAX && count >= -INT64_MAX) return count;
    throw new AlmanacError('invalid_arguments', `time ${timeMs}ms does not fit ${type}`);
  };
}
