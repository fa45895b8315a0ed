import type { Slices } from '#shared/clock/slices';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { sqlRows } from '../../query/sql-rows.js';
import { countedRows, lineWork, RowReader, rowColumnsSql, safeBase, type LogSource } from '../source/log-rows.js';
import { labelSql } from '../source/log-table.js';
import { inRangeSql, pushDown, type PushedQuery } from '../source/push-down.js';
import { compileLabelCondition, type RowTest } from '../stages/label-condition.js';
import type { LineStage, PipelineLine } from '../line/pipeline-line.js';
import { compileStages } from '../stages/pipeline.js';
import { wantedLabels } from '../stages/wanted-labels.js';
import type { RowLabels } from '../line/row-labels.js';
import type { Grouping, RangeAggregation, Unwrap } from '../syntax/ast.js';
import { byteCount, durationSeconds, goFloat } from '../units.js';
import { accumulatorsOf } from './accumulator.js';
import { emptySeries, groupedLabels, seriesKey, type MetricSeries, type SeriesLabels, type Steps } from './series.js';
import { bucketLayout, WindowBuckets, type BucketLayout } from './windows.js';

/** What range aggregations read and how long they may compute. */
export interface MetricRun {
  /** Undefined before the first line is written. */
  readonly source: LogSource | undefined;
  readonly steps: Steps;
  readonly slices: Slices;
}

/** Functions whose sums over groups are the sums of the groups' lines. */
const ADDITIVE = new Set(['count_over_time', 'rate', 'bytes_over_time', 'bytes_rate', 'sum_over_time']);
const OF_BYTES = new Set(['bytes_over_time', 'bytes_rate']);

/** Whether `sum` of the function can be computed with the labels of the sum alone. */
export function isAdditive(fn: string): boolean {
  return ADDITIVE.has(fn);
}

/**
 * Computes a range aggregation at each step.
 *
 * @param reduced labels that are needed of the result; undefined: all.
 * @throws `invalid_arguments` if a line has an error, or at a limit.
 */
export async function rangeSeries(
  aggregation: RangeAggregation,
  context: MetricRun,
  reduced: Grouping | undefined,
): Promise<MetricSeries[]> {
  const { fn, rangeNs, offsetNs, parameter } = aggregation;
  const { source, steps, slices } = context;
  const layout = bucketLayout(steps, rangeNs, offsetNs);
  const isAbsence = fn === 'absent_over_time';
  const grouping = isAbsence ? { isWithout: false, labels: [] } : (aggregation.grouping ?? reduced);
  const buckets = new WindowBuckets(accumulatorsOf(fn, Number(rangeNs) / 1e9, parameter));
  // Compiled here too, so that errors do not depend on what is stored.
  compileStages(aggregation.query.stages);
  if (source !== undefined) {
    const pushed = pushDown(aggregation.query, source.table);
    const reading = { pushed, layout, grouping, buckets };
    if (pushed.stages.length === 0 && aggregation.unwrap === undefined) await addCounts(fn, source, reading);
    else await addRows(aggregation, source, reading);
  }
  const series = await buckets.windows(steps, layout, slices);
  return isAbsence ? [absence(aggregation, series.at(0), steps.count)] : series;
}

interface Reading {
  readonly pushed: PushedQuery;
  readonly layout: BucketLayout;
  readonly grouping: Grouping | undefined;
  readonly buckets: WindowBuckets;
}

function whereSql({ table }: LogSource, { conditions }: PushedQuery, { baseNs, endNs }: BucketLayout): string {
  return [inRangeSql(table, baseNs + 1n, endNs + 1n), ...conditions].join(' AND ');
}

/** Lets the engine count lines or their bytes. */
async function addCounts(fn: string, source: LogSource, { pushed, layout, grouping, buckets }: Reading): Promise<void> {
  const { table, querier, database, call } = source;
  const { baseNs, widthNs } = layout;
  // Before 1970 the differences of times can exceed 64 bits.
  const time =
    baseNs < 0n ? `epoch_ns(${quoteName(table.timeColumn)})::HUGEINT` : `epoch_ns(${quoteName(table.timeColumn)})`;
  const bucket = `(${time} - ${baseNs} + ${widthNs - 1n}) // ${widthNs}`;
  const value = OF_BYTES.has(fn) ? `sum(strlen(${table.line}))` : 'count(*)';
  const byLabels = grouping?.isWithout === false ? grouping.labels.map((label) => labelSql(table, label)) : undefined;
  const isByLabels = byLabels !== undefined && !byLabels.includes(undefined);
  const keys = isByLabels ? byLabels : [...table.tags, ...table.metadata].map(({ column }) => quoteName(column));
  const select = [`${bucket} AS bucket`, value, ...keys].join(', ');
  const groups = ['bucket', ...keys.map((_key, i) => String(i + 3))].join(', ');
  const sql = `SELECT ${select} FROM ${quoteName(table.name)} WHERE ${whereSql(source, pushed, layout)} GROUP BY ${groups}`;
  const reader = new RowReader(table, 0n);
  for await (const rows of sqlRows(querier, { sql, database }, call)) {
    for (const row of rows) {
      const labels = isByLabels
        ? namedLabels(grouping!.labels, row.slice(2) as string[])
        : keptLabels(reader.read(row).labels, grouping);
      const sample = [Number(row[1] ?? 0), 0] as const;
      buckets.add(seriesKey(labels), () => labels, Number(row[0]), sample);
    }
  }
}

function namedLabels(names: readonly string[], values: readonly string[]): SeriesLabels {
  const labels = names.map((name, i) => [name, values[i]] as const).filter(([, value]) => value !== '');
  return labels.sort(([a], [b]) => (a < b ? -1 : 1));
}

function keptLabels(labels: RowLabels, grouping: Grouping | undefined): SeriesLabels {
  const all = labels.sorted();
  return grouping === undefined ? all : groupedLabels(all, grouping);
}

/** Reads the lines and runs the stages that SQL cannot. */
async function addRows(
  { fn, unwrap }: RangeAggregation,
  source: LogSource,
  { pushed, layout, grouping, buckets }: Reading,
): Promise<void> {
  const { table } = source;
  const { baseNs, widthNs } = layout;
  const readBaseNs = safeBase(baseNs);
  const sql = `SELECT ${rowColumnsSql(table, readBaseNs)} FROM ${quoteName(table.name)} WHERE ${whereSql(source, pushed, layout)}`;
  const stages = compileStages(pushed.stages);
  const sinceBase = Number(readBaseNs - baseNs);
  const valueOf = unwrap === undefined ? lineValue(fn) : unwrappedValue(unwrap);
  const reader = new RowReader(table, readBaseNs, wantedLabels(pushed.stages, unwrap, grouping));
  const labelsOf = seriesLabelsOf(grouping);
  const width = Number(widthNs);
  const { slices } = source;
  for await (const rows of countedRows(source, sql)) {
    for (const row of rows) {
      if (slices.isOver(lineWork(row))) await slices.yield();
      const line = reader.read(row);
      if (!passes(line, stages)) continue;
      const value = valueOf(line);
      if (value === undefined) continue;
      if (line.labels.error !== '') {
        // Read again with all labels, which the error shows.
        const whole = new RowReader(table, readBaseNs).read(row);
        if (passes(whole, stages)) valueOf(whole);
        throw pipelineError(whole.labels);
      }
      const timeNs = Number(row[0]) + sinceBase;
      const { key, labels } = labelsOf(line.labels);
      buckets.add(key, labels, Math.ceil(timeNs / width), [value, timeNs]);
    }
  }
}

function passes(line: PipelineLine, stages: readonly LineStage[]): boolean {
  for (const stage of stages) if (!stage(line)) return false;
  return true;
}

interface LineSeries {
  readonly key: string;
  readonly labels: () => SeriesLabels;
}

/** Returns what makes the series of a line. With named labels, lists of labels are made for new series only. */
function seriesLabelsOf(grouping: Grouping | undefined): (labels: RowLabels) => LineSeries {
  if (grouping === undefined || grouping.isWithout) {
    return (row) => {
      const labels = keptLabels(row, grouping);
      return { key: seriesKey(labels), labels: () => labels };
    };
  }
  const names = [...new Set(grouping.labels)].sort();
  return (row) => {
    let key = '';
    for (const name of names) {
      const value = row.get(name);
      if (value !== '') key += `${name}\u0000${value}\u0000`;
    }
    return { key, labels: () => keptLabels(row, grouping) };
  };
}

function lineValue(fn: string): (line: PipelineLine) => number | undefined {
  return OF_BYTES.has(fn) ? ({ text }) => Buffer.byteLength(text) : () => 1;
}

const CONVERSIONS: Readonly<Record<Unwrap['conversion'], (text: string) => number | undefined>> = {
  '': goFloat,
  duration: durationSeconds,
  duration_seconds: durationSeconds,
  bytes: byteCount,
};

function unwrappedValue({ label, conversion, filters }: Unwrap): (line: PipelineLine) => number | undefined {
  const convert = CONVERSIONS[conversion];
  const tests: RowTest[] = filters.map(({ condition }) => compileLabelCondition(condition));
  return ({ labels }) => {
    const text = labels.find(label);
    if (text === undefined) return undefined;
    const value = convert(text);
    if (value === undefined) {
      labels.fail('SampleExtractionErr', `label "${label}" is not a number: ${JSON.stringify(text)}`);
    }
    labels.remove(label);
    return tests.every((test) => test(labels)) ? (value ?? 0) : undefined;
  };
}

/** Makes the error of a line that has one, in the words of Loki. */
function pipelineError(labels: RowLabels): AlmanacError {
  const { error } = labels;
  const shown = labels
    .sorted()
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(', ');
  return new AlmanacError(
    'invalid_arguments',
    `pipeline error: '${error}' for series: '{${shown.slice(0, 2_000)}}'.\n` +
      `Use a label filter to intentionally skip this error. (e.g | __error__!="${error}").\n` +
      'To skip all potential errors you can match empty errors.(e.g __error__="")\n' +
      'The label filter can also be specified after unwrap. (e.g | unwrap latency | __error__="" )\n',
  );
}

/** Returns 1 where the windows have no line; its labels are those that the selector requires. */
function absence({ query }: RangeAggregation, found: MetricSeries | undefined, count: number): MetricSeries {
  const names = query.matchers.map(({ name }) => name);
  const labels = query.matchers
    .filter(({ op, name, value }) => op === '=' && value !== '' && names.indexOf(name) === names.lastIndexOf(name))
    .map(({ name, value }) => [name, value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const series = emptySeries(labels, count);
  for (let step = 0; step < count; step++) {
    if (found?.present[step] === 1) continue;
    series.values[step] = 1;
    series.present[step] = 1;
  }
  return series;
}
