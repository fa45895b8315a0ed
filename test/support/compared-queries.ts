/** Queries over the series of `comparedSeries`, as varied as those of dashboards and rules. */
export const COMPARED_QUERIES: readonly string[] = [
  // Selectors.
  'up',
  'http_requests_total{code=~"5..", handler!="/api"}',
  '{__name__=~"mem.*|up", instance="i1"}',
  'http_requests_total{code!~"2..|4.."} offset 7m',
  'memory_bytes offset -3m',
  'memory_bytes @ 1700003600',
  'rate(http_requests_total{code="200"}[5m] @ end())',
  'memory_bytes{instance=""}',
  'late_gauge',
  'gone_gauge',
  'odd_values',
  // Counters.
  'rate(http_requests_total[5m])',
  'rate(http_requests_total[1m])',
  'increase(http_requests_total{handler="/"}[17m])',
  'irate(http_requests_total[2m])',
  'resets(http_requests_total[1h])',
  'rate(late_total[10m])',
  'increase(gone_total[5m])',
  'sum(rate(http_requests_total[5m]))',
  'sum by (job, handler) (rate(http_requests_total[3m]))',
  'sum without (instance, code) (increase(http_requests_total[5m]))',
  'rate(cpu_seconds_total{mode!="idle"}[5m] offset 10m)',
  '100 * (1 - avg by (instance) (rate(cpu_seconds_total{mode="idle"}[5m])))',
  // Gauges over time.
  'delta(memory_bytes[10m])',
  'idelta(memory_bytes[2m])',
  'deriv(memory_bytes[15m])',
  'predict_linear(memory_bytes[30m], 3600)',
  'avg_over_time(memory_bytes[6m])',
  'min_over_time(memory_bytes[6m])',
  'max_over_time(memory_bytes[6m])',
  'sum_over_time(memory_bytes[6m])',
  'count_over_time(late_gauge[9m])',
  'last_over_time(gone_gauge[20m])',
  'present_over_time(gone_gauge[8m])',
  'quantile_over_time(0.9, memory_bytes[11m])',
  'stddev_over_time(memory_bytes[7m])',
  'stdvar_over_time(temperature[7m])',
  'changes(temperature[20m])',
  'absent_over_time(gone_gauge[3m])',
  'timestamp(memory_bytes)',
  'avg_over_time(odd_values[3m])',
  // Aggregations.
  'sum(memory_bytes)',
  'avg by (instance) (cpu_seconds_total)',
  'min by (mode) (cpu_seconds_total)',
  'max without (mode) (cpu_seconds_total)',
  'count by (code) (http_requests_total)',
  'group by (handler) (http_requests_total)',
  'stddev(memory_bytes)',
  'stdvar by (job) (up + memory_bytes)',
  'topk(3, rate(http_requests_total[5m]))',
  'bottomk by (instance) (2, cpu_seconds_total)',
  'quantile(0.75, memory_bytes)',
  'quantile by (handler) (0.3, rate(http_requests_total[4m]))',
  'count_values("level", floor(temperature / 5))',
  'sum(sum by (instance) (http_requests_total)) / count(up)',
  // Histograms.
  'histogram_quantile(0.9, sum by (le) (rate(request_seconds_bucket[5m])))',
  'histogram_quantile(0.5, rate(request_seconds_bucket[10m]))',
  'histogram_quantile(0.99, sum by (le, handler) (increase(request_seconds_bucket[7m])))',
  'histogram_quantile(1.2, request_seconds_bucket)',
  'rate(request_seconds_sum[5m]) / rate(request_seconds_count[5m])',
  'sum by (handler) (rate(request_seconds_bucket{le="0.5"}[5m])) / sum by (handler) (rate(request_seconds_count[5m]))',
  // Operators and joins.
  'memory_bytes / 1024 / 1024',
  '-memory_bytes ^ 2',
  'memory_bytes % 1000 > 500',
  'memory_bytes > bool 2e9',
  '2 * up == 2',
  'memory_bytes - memory_bytes offset 5m',
  'temperature * on (instance) group_left (version) build_info',
  'build_info * on (instance) group_right () cpu_seconds_total',
  'sum by (instance) (rate(http_requests_total[5m])) / on (instance) memory_bytes',
  'http_requests_total{code="500"} / ignoring (code) http_requests_total{code="200"}',
  'up and on (instance) (memory_bytes > 2e9)',
  'temperature unless on (instance) gone_gauge',
  'gone_gauge or late_gauge',
  '(up == 1) or vector(7)',
  'temperature atan2 on (instance) build_info',
  '1 + 2 * 3 ^ 2 % 5',
  'vector(1) > 0.5',
  'scalar(sum(up)) * memory_bytes',
  // Subqueries.
  'max_over_time(rate(http_requests_total{handler="/"}[5m])[30m:1m])',
  'avg_over_time(sum(memory_bytes)[20m:])',
  'min_over_time((memory_bytes - memory_bytes offset 1m)[15m:30s])',
  'quantile_over_time(0.5, rate(cpu_seconds_total{mode="user"}[2m])[10m:2m] offset 4m)',
  'sum_over_time(max by (mode) (rate(cpu_seconds_total[3m]))[12m:3m] @ 1700005000)',
  'changes(ceil(deriv(memory_bytes[5m]))[25m:50s])',
  'rate(sum_over_time(up[1m])[10m:1m])',
  // Labels.
  'label_replace(up, "host", "node-$1", "instance", "i(.*)")',
  'label_join(build_info, "both", "/", "instance", "version")',
  'sum by (zone) (label_replace(memory_bytes, "zone", "$1", "instance", ".(.)"))',
  'absent(nothing{job="x", instance=~"y.*"})',
  'absent(up)',
  // Functions.
  'abs(temperature)',
  'clamp(temperature, -5, 15.5)',
  'clamp_min(temperature, 3) + clamp_max(temperature, 3)',
  'ceil(temperature) - floor(temperature) + round(temperature, 0.5)',
  'sqrt(abs(temperature)) + exp(temperature / 10) + ln(memory_bytes) + log2(memory_bytes) + log10(memory_bytes)',
  'sgn(temperature)',
  'sin(temperature) + cos(temperature) + tan(temperature) + atan(temperature) + sinh(temperature / 9)',
  'deg(rad(temperature)) + pi()',
  'time() - timestamp(temperature)',
  'hour(timestamp(up)) + minute(timestamp(up)) + day_of_week() + day_of_month() + days_in_month() + month() + year()',
  'sort_desc(memory_bytes)',
  'sort(sum by (handler) (http_requests_total))',
  'day_of_year(vector(time()))',
  'count(count by (instance) ({instance=~".+"}))',
  'sum(rate(http_requests_total{code=~"5.."}[5m])) by (job) / sum(rate(http_requests_total[5m])) by (job) * 100',
  'avg(avg_over_time(up[30m])) by (job)',
  'topk(1, sum by (handler) (increase(http_requests_total[10m]))) > 1',
  'max(time() - build_info * on (instance) timestamp(up)) by (version)',
];

/** Time of the first sample. Not a whole second, so that no sample is at the edge of a window of whole seconds. */
export const COMPARED_START_MS = 1_700_000_000_123;
const EVERY_MS = 15_000;
const COUNT = 480;

type Labels = readonly (readonly [name: string, value: string])[];

interface ComparedSeries {
  readonly labels: Labels;
  /** Value of each sample; undefined for none, `stale` for a staleness marker. */
  readonly at: (i: number) => number | 'stale' | undefined;
}

function labelled(name: string, labels: Readonly<Record<string, string>>): Labels {
  return Object.entries({ __name__: name, ...labels }).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Returns a number between 0 and 1 that depends on the arguments only. */
function noise(...parts: readonly number[]): number {
  let state = 2_166_136_261;
  for (const part of parts) state = Math.imul(state ^ part, 16_777_619) ^ (state >>> 13);
  return (Math.imul(state, 2_654_435_761) >>> 0) / 2 ** 32;
}

/** Returns a counter that sums noise and resets periodically. */
function counter(seed: number, stepMax: number, resetEvery = Infinity): (i: number) => number {
  const sums: number[] = [];
  for (let i = 0, sum = 0; i < COUNT; i++) {
    sum = i > 0 && i % resetEvery === 0 ? 0 : sum + Math.floor(noise(seed, i) * stepMax * 1000) / 1000;
    sums.push(sum);
  }
  return (i) => sums[i];
}

const BOUNDS = ['0.1', '0.25', '0.5', '1', '2.5', '+Inf'];

function histogram(labels: Readonly<Record<string, string>>, seed: number): ComparedSeries[] {
  const buckets = BOUNDS.map((_, n) => counter(seed + n, 5, 170));
  const upTo = (n: number, i: number): number =>
    buckets.slice(0, n + 1).reduce((sum, bucket) => sum + Math.floor(bucket(i)), 0);
  return [
    ...BOUNDS.map((le, n) => ({
      labels: labelled('request_seconds_bucket', { ...labels, le }),
      at: (i: number) => upTo(n, i),
    })),
    { labels: labelled('request_seconds_count', labels), at: (i) => upTo(BOUNDS.length - 1, i) },
    { labels: labelled('request_seconds_sum', labels), at: counter(seed + 99, 9, 170) },
  ];
}

/** Returns the same series in every run: counters, gauges, classic histograms, and series that start late, have gaps, or end. */
export function comparedSeries(): ComparedSeries[] {
  const all: ComparedSeries[] = [];
  for (const [n, instance] of ['i1', 'i2', 'i3'].entries()) {
    const job = n === 2 ? 'batch' : 'web';
    all.push({ labels: labelled('up', { job, instance }), at: (i) => (noise(n, i) < 0.05 ? 0 : 1) });
    all.push({
      labels: labelled('memory_bytes', { instance }),
      at: (i) => 2e9 + n * 1e8 + Math.round(1e8 * Math.sin(i / (9 + n))),
    });
    all.push({ labels: labelled('build_info', { instance, version: `1.${n}` }), at: () => 1 });
    all.push({
      labels: labelled('temperature', { instance }),
      at: (i) => (noise(n, i, 3) < 0.1 ? undefined : Math.round(200 * Math.cos(i / 31 + n)) / 10),
    });
    for (const [m, mode] of ['idle', 'user', 'system'].entries()) {
      all.push({ labels: labelled('cpu_seconds_total', { instance, mode }), at: counter(10 * n + m, 15) });
    }
    for (const [h, handler] of ['/', '/api', '/login'].entries()) {
      for (const [c, code] of ['200', '404', '500'].entries()) {
        const labels = labelled('http_requests_total', { job, instance, handler, code });
        all.push({ labels, at: counter(1000 + 100 * n + 10 * h + c, 40 / (c + 1), 90 + 20 * h + 7 * n) });
      }
    }
    all.push(...histogram({ instance, handler: '/' }, 5000 + n), ...histogram({ instance, handler: '/api' }, 6000 + n));
  }
  const late = (i: number): boolean => i < 200 || (i > 260 && i < 300);
  const lateCounter = counter(77, 6);
  const goneCounter = counter(78, 6);
  const odd = [1, NaN, -0, 1e300, 5e-324, 0.1, 3];
  all.push(
    { labels: labelled('late_gauge', { instance: 'i1' }), at: (i) => (late(i) ? undefined : i) },
    { labels: labelled('late_total', { instance: 'i1' }), at: (i) => (late(i) ? undefined : lateCounter(i)) },
    { labels: labelled('gone_gauge', { instance: 'i2' }), at: (i) => ending(i, i / 7) },
    { labels: labelled('gone_total', { instance: 'i2' }), at: (i) => ending(i, goneCounter(i)) },
    { labels: labelled('odd_values', {}), at: (i) => odd[i % odd.length] },
  );
  return all;
}

/** Returns the samples of a series that ends twice. */
function ending(i: number, value: number): number | 'stale' | undefined {
  if (i === 150 || i === 400) return 'stale';
  return (i > 150 && i < 220) || i > 400 ? undefined : value;
}

/** A sample of a remote write message. */
export interface ComparedSample {
  readonly labels: Labels;
  readonly samples: readonly { readonly value: number; readonly timestamp: number }[];
}

/** Yields all samples in batches ordered by time. Staleness markers are NaNs that `markStale` replaces. */
export function* comparedBatches(
  batchCount = 12,
): Iterable<{ readonly series: ComparedSample[]; readonly stale: ComparedSample[] }> {
  const all = comparedSeries();
  const length = COUNT / batchCount;
  for (let from = 0; from < COUNT; from += length) {
    const of = (isIncluded: (value: number | 'stale') => boolean): ComparedSample[] =>
      all
        .map(({ labels, at }) => ({
          labels,
          samples: Array.from({ length }, (_, n) => from + n).flatMap((i) => {
            const value = at(i);
            if (value === undefined || !isIncluded(value)) return [];
            return [{ value: value === 'stale' ? NaN : value, timestamp: COMPARED_START_MS + i * EVERY_MS }];
          }),
        }))
        .filter(({ samples }) => samples.length > 0);
    yield { series: of((value) => value !== 'stale'), stale: of((value) => value === 'stale') };
  }
}
