import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { checkCall, type Call } from '#shared/contracts/call';
import type { QuerierService } from '#shared/contracts/gen/querier';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { EXEMPLAR_COLUMNS, METADATA_COLUMNS, METRIC_NAME, type MetricNames } from '#shared/schema/metric-table';

import type { LabelMatcher } from '../../series/matcher.js';
import { compareLabels, Labels } from '../../series/labels.js';
import { compileMatcher, PLAIN_WORK } from '../../series/matcher.js';
import type { Exemplar, ExemplarQuery, StoredMetricMetadata, PromExtras, SeriesExemplars } from './extras.js';

/** Largest number of rows read for a response. */
const ROWS_MAX = 100_000;
/** Times with a year of four digits; others do not restrict the stored rows. */
const DATED_MS_MAX = Date.UTC(9999, 11, 31);
const DATED_MS_MIN = Date.UTC(1, 0, 1);

type Row = readonly unknown[];
/** Rows of an SQL query. */
interface SqlRows {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

type LabelTest = (labels: Labels) => Promise<boolean>;

/** Metadata and exemplars, which remote writes store in two tables of each database. */
export class TableExtras implements PromExtras {
  readonly #sql: QuerierService['sql'];
  readonly #names: MetricNames;
  readonly #clock: Clock;

  constructor(sql: QuerierService['sql'], names: MetricNames, clock: Clock) {
    this.#sql = sql;
    this.#names = names;
    this.#clock = clock;
  }

  async metadata(database: string, metric: string, call: Call): Promise<Map<string, StoredMetricMetadata[]>> {
    const { metric: metricColumn, type, help, unit, seen } = METADATA_COLUMNS;
    const filter = metric === '' ? '' : ` WHERE ${quoteName(metricColumn)} = ${quoteText(metric)}`;
    const order = `${quoteName(metricColumn)}, ${quoteName(seen)} DESC`;
    // All columns: a column that no metric has a value for does not exist.
    const sql = `SELECT * FROM ${quoteName(this.#names.metadataTable)}${filter} ORDER BY ${order}`;
    const { columns, rows } = await this.#query(sql, database, call);
    const indexes = [metricColumn, type, help, unit].map((name) => columns.indexOf(name));
    const byMetric = new Map<string, StoredMetricMetadata[]>();
    for (const row of rows) {
      const [name, ...entry] = indexes.map((at) => (row[at] as string | null | undefined) ?? '');
      const entries = byMetric.get(name) ?? [];
      byMetric.set(name, entries);
      entries.push({ type: entry[0], help: entry[1], unit: entry[2] });
    }
    return byMetric;
  }

  async exemplars({ database, matcherSets, fromMs, toMs }: ExemplarQuery, call: Call): Promise<SeriesExemplars[]> {
    const { exemplarsTable, timeColumn, valueColumn } = this.#names;
    const { seriesLabels, exemplarLabels } = EXEMPLAR_COLUMNS;
    const time = quoteName(timeColumn);
    const columns = [seriesLabels, exemplarLabels, valueColumn, timeColumn].map(quoteName).join(', ');
    const conditions = [
      ...(fromMs > DATED_MS_MIN ? [`${time} >= ${timestamp(fromMs)}`] : []),
      ...(toMs < DATED_MS_MAX ? [`${time} <= ${timestamp(toMs)}`] : []),
      ...metricCondition(matcherSets),
    ];
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    const sql = `SELECT ${columns} FROM ${quoteName(exemplarsTable)}${where} ORDER BY ${time}`;
    const { rows } = await this.#query(sql, database, call);
    return bySeries(rows, testOf(matcherSets, new Slices(this.#clock, { check: () => checkCall(call) })));
  }

  /** Runs a query; returns no rows if the table does not exist. */
  async #query(sql: string, database: string, call: Call): Promise<SqlRows> {
    const request = { sql, database, timezone: 'UTC', format: '', limit: ROWS_MAX, user: '' };
    const rows: Row[] = [];
    let columns: string[] = [];
    try {
      for await (const { text, schema } of this.#sql(request, call)) {
        if (schema.length > 0) columns = schema.map(({ name }) => name);
        if (text.length === 0) continue;
        for (const row of JSON.parse(`[${Buffer.from(text).toString()}]`) as Row[]) rows.push(row);
      }
    } catch (error) {
      const { code } = AlmanacError.from(error);
      if (code !== 'table_not_found' && code !== 'database_not_found') throw error;
    }
    return { columns, rows };
  }
}

function timestamp(timeMs: number): string {
  return `TIMESTAMP '${new Date(timeMs).toISOString().replace('T', ' ').replace('Z', '')}'`;
}

/** Returns a condition on the metric if every selector names one. */
function metricCondition(sets: ExemplarQuery['matcherSets']): string[] {
  const metrics = sets.map((matchers) => matchers.find(({ name, op }) => name === METRIC_NAME && op === '=')?.value);
  if (metrics.includes(undefined)) return [];
  return [`${quoteName(EXEMPLAR_COLUMNS.metric)} IN (${metrics.map((it) => quoteText(it ?? '')).join(', ')})`];
}

/** Returns the test of matcher sets, which yields between values. */
function testOf(sets: ExemplarQuery['matcherSets'], slices: Slices): LabelTest {
  const compiled = sets.map((matchers: readonly LabelMatcher[]) =>
    matchers.map((matcher) => ({ name: matcher.name, test: compileMatcher(matcher) })),
  );
  return async (labels) => {
    for (const tests of compiled) {
      let matches = true;
      for (const { name, test } of tests) {
        if (slices.isOver(test.work ?? PLAIN_WORK)) await slices.yield();
        matches = test(labels.get(name));
        if (!matches) break;
      }
      if (matches) return true;
    }
    return false;
  };
}

/** Groups rows, which are sorted by time, by their series; omits series that do not match. */
async function bySeries(rows: readonly Row[], matches: LabelTest): Promise<SeriesExemplars[]> {
  const found = new Map<string, { readonly series: Labels; readonly exemplars: Exemplar[] } | undefined>();
  for (const [seriesLabels, exemplarLabels, value, timeMs] of rows) {
    const series = labelsOf(seriesLabels);
    if (!found.has(series.key)) found.set(series.key, (await matches(series)) ? { series, exemplars: [] } : undefined);
    const exemplar = {
      labels: labelsOf(exemplarLabels),
      value: (value as number | null) ?? NaN,
      timeMs: Number(timeMs),
    };
    const exemplars = found.get(series.key)?.exemplars;
    if (!isDuplicate(exemplars?.at(-1), exemplar)) exemplars?.push(exemplar);
  }
  return [...found.values()].filter((it) => it !== undefined).sort((a, b) => compareLabels(a.series, b.series));
}

/** Reports whether an exemplar is a duplicate from a repeated request. */
function isDuplicate(one: Exemplar | undefined, other: Exemplar): boolean {
  if (one === undefined) return false;
  return one.timeMs === other.timeMs && Object.is(one.value, other.value) && one.labels.key === other.labels.key;
}

function labelsOf(value: unknown): Labels {
  return Labels.of(Object.entries((value ?? {}) as Readonly<Record<string, string>>));
}
