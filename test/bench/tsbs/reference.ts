import { FIELD_COUNT, FIELD_NAMES, START_SECONDS, STEP_SECONDS, type TsbsData } from './generator.js';
import { HIGH_CPU_ABOVE, LAST_MINUTES, type QuestionShape, type TsbsQuery } from './queries.js';
import { TAG_NAMES } from './tags.js';

export interface AnswerColumn {
  readonly name: string;
  /** Times are whole seconds since 1970. */
  readonly type: 'time' | 'text' | 'number';
}

/** The correct result of a query. */
export interface ExpectedAnswer {
  readonly columns: readonly AnswerColumn[];
  readonly rows: readonly (readonly (string | number)[])[];
  /** True if the rows must come in this order. */
  readonly ordered: boolean;
}

/** Computes a result from the generator's own values, by plain loops. */
export function answer(query: TsbsQuery, data: TsbsData): ExpectedAnswer {
  return ANSWER_OF_SHAPE[query.shape](query, data);
}

const ANSWER_OF_SHAPE: Readonly<Record<QuestionShape, (query: TsbsQuery, data: TsbsData) => ExpectedAnswer>> = {
  'max-per-minute': (query, data) => maxPer('minute', query, data),
  'max-per-hour': (query, data) => maxPer('hour', query, data),
  'mean-per-host-and-hour': meanPerHostAndHour,
  'high-cpu': highCpu,
  'last-row': lastRows,
  'last-five-minutes'(query, data) {
    const all = maxPer('minute', { ...query, from: START_SECONDS }, data);
    return { ...all, rows: all.rows.slice(-LAST_MINUTES).reverse() };
  },
};

const UNIT_SECONDS = { minute: 60, hour: 3600 } as const;

function maxPer(unit: 'minute' | 'hour', query: TsbsQuery, data: TsbsData): ExpectedAnswer {
  const buckets = new Map<number, number[]>();
  for (let step = firstStep(query.from); step < endStep(query.to, data); step++) {
    const greatest = bucketOf(buckets, truncate(timeOf(step), UNIT_SECONDS[unit]), () => query.fields.map(() => -1));
    for (const host of query.hosts) {
      const first = (step * data.shape.hosts + host) * FIELD_COUNT;
      for (let field = 0; field < greatest.length; field++) {
        greatest[field] = Math.max(greatest[field], data.values[first + field]);
      }
    }
  }
  return {
    columns: [{ name: unit, type: 'time' }, ...numberColumns('max_', query.fields)],
    rows: [...buckets].map(([time, greatest]) => [time, ...greatest]),
    ordered: true,
  };
}

function meanPerHostAndHour(query: TsbsQuery, data: TsbsData): ExpectedAnswer {
  const fields = query.fields.length;
  const { hosts } = data.shape;
  const hours = new Map<number, { steps: number; sums: Float64Array }>();
  for (let step = firstStep(query.from); step < endStep(query.to, data); step++) {
    const hour = bucketOf(hours, truncate(timeOf(step), 3600), () => ({
      steps: 0,
      sums: new Float64Array(hosts * fields),
    }));
    hour.steps++;
    for (let host = 0; host < hosts; host++) {
      const first = (step * hosts + host) * FIELD_COUNT;
      for (let field = 0; field < fields; field++) hour.sums[host * fields + field] += data.values[first + field];
    }
  }
  const byName = query.hosts.slice().sort((a, b) => (hostName(data, a) < hostName(data, b) ? -1 : 1));
  const rows: (string | number)[][] = [];
  for (const [time, { steps, sums }] of hours) {
    for (const host of byName) {
      const means = sums.slice(host * fields, (host + 1) * fields).map((sum) => sum / steps);
      rows.push([time, hostName(data, host), ...means]);
    }
  }
  const columns: AnswerColumn[] = [
    { name: 'hour', type: 'time' },
    { name: 'hostname', type: 'text' },
    ...numberColumns('mean_', query.fields),
  ];
  return { columns, rows, ordered: true };
}

function highCpu(query: TsbsQuery, data: TsbsData): ExpectedAnswer {
  const rows: (string | number)[][] = [];
  for (let step = firstStep(query.from); step < endStep(query.to, data); step++) {
    for (const host of query.hosts) {
      const usageUser = data.values[(step * data.shape.hosts + host) * FIELD_COUNT];
      if (usageUser > HIGH_CPU_ABOVE) rows.push(wholeRow(step, host, data));
    }
  }
  return { columns: WHOLE_ROW_COLUMNS, rows, ordered: false };
}

function lastRows(query: TsbsQuery, data: TsbsData): ExpectedAnswer {
  const rows = query.hosts.map((host) => wholeRow(data.shape.steps - 1, host, data));
  return { columns: WHOLE_ROW_COLUMNS, rows, ordered: false };
}

const WHOLE_ROW_COLUMNS: readonly AnswerColumn[] = [
  { name: 'almanac_timestamp', type: 'time' },
  ...TAG_NAMES.map((name): AnswerColumn => ({ name, type: 'text' })),
  ...numberColumns('', FIELD_NAMES),
];

function wholeRow(step: number, host: number, data: TsbsData): (string | number)[] {
  const first = (step * data.shape.hosts + host) * FIELD_COUNT;
  return [timeOf(step), ...data.hostTags[host], ...data.values.subarray(first, first + FIELD_COUNT)];
}

function numberColumns(prefix: string, names: readonly string[]): AnswerColumn[] {
  return names.map((name) => ({ name: `${prefix}${name}`, type: 'number' }));
}

function bucketOf<T>(buckets: Map<number, T>, time: number, make: () => T): T {
  let bucket = buckets.get(time);
  if (bucket === undefined) buckets.set(time, (bucket = make()));
  return bucket;
}

function hostName(data: TsbsData, host: number): string {
  return data.hostTags[host][0];
}

function timeOf(step: number): number {
  return START_SECONDS + step * STEP_SECONDS;
}

/** The first point at or after a time. */
function firstStep(from: number): number {
  return Math.max(0, Math.ceil((from - START_SECONDS) / STEP_SECONDS));
}

/** The first point at or after the end of a range, or the end of the data. */
function endStep(to: number, data: TsbsData): number {
  return Math.min(data.shape.steps, firstStep(to));
}

function truncate(time: number, unitSeconds: number): number {
  return time - (time % unitSeconds);
}
