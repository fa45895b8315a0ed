import { expect } from 'chai';

import { systemClock, type Clock } from '#shared/clock/clock';
import { QueryLimits, type QueryLimitOptions } from '#services/querier/promql/runtime/limits';
import { quantileOf, valueAtRank, type RankedValue } from '#services/querier/promql/runtime/quantile';
import type { SampleSeries, StepSeries } from '#services/querier/promql/runtime/samples';
import { sortedInSlices } from '#services/querier/series/sliced-collections';
import { runPromql, series, type TestSample } from '#test/support/promql-source';

const HISTOGRAM = {
  ...{ schema: 0, count: 4, sum: 9, hint: 'unknown' as const, zeroThreshold: 0.001, zeroCount: 1, custom: [] },
  ...{ positive: { indexes: [0, 1], counts: [1, 2] }, negative: { indexes: [], counts: [] } },
};

function samples(count: number, of: (i: number) => TestSample): TestSample[] {
  return Array.from({ length: count }, (_, i) => of(i));
}

/** Series of floats and histograms with gaps and staleness markers. */
const DATA: readonly SampleSeries[] = [
  series(
    'm',
    { i: '0' },
    samples(60, (i) => (i * 7) % 11),
  ),
  series(
    'm',
    { i: '1' },
    samples(60, (i) => (i < 20 || i > 40 ? i : undefined)),
  ),
  series(
    'm',
    { i: '2', g: 'x' },
    samples(60, (i) => (i === 30 ? 'stale' : i > 25 ? -i : undefined)),
  ),
  series(
    'n_total',
    { i: '0' },
    samples(60, (i) => i % 17),
  ),
  series(
    'n_total',
    { i: '2' },
    samples(60, (i) => i * 3),
  ),
  series(
    'b',
    { le: '1' },
    samples(60, (i) => i),
  ),
  series(
    'b',
    { le: '+Inf' },
    samples(60, (i) => (i === 7 ? 6 : 2 * i)),
  ),
  series(
    'h',
    { i: '0' },
    samples(60, (i) => (i % 9 === 4 ? 3 : HISTOGRAM)),
  ),
];

/** Instant vectors, which the tests evaluate as subqueries of many steps. */
const VECTORS: readonly string[] = [
  ...['m', '-m', 'm + 1', '2 * m', 'm > 5', 'm > bool 5', '1 - vector(2)', 'm @ 600 + m', 'm offset 5m', 'time() - m'],
  ...['((m > 5) or -m) > -100', '(-m or (m > 5)) < 100'],
  ...['m + on(i) n_total', 'm * on(i) group_left n_total', 'm and on(i) n_total', 'm or n_total', 'm unless m > 6'],
  ...['m * on() group_left vector(3)', 'n_total + on(i) fill_left(1) (m > 3)', '-h', 'h * 2', 'h + h', 'm or h'],
  ...['sum(m)', 'avg by (g) (m)', 'min(m)', 'max without (i) (m)', 'stddev(m)', 'count(m)', 'group(m)', 'sum(h)'],
  ...['quantile(0.3, m)', 'quantile(scalar(n_total{i="0"}) / 10, m)', 'topk(1, m)', 'bottomk(2, m)', 'limitk(1, m)'],
  ...[
    'limit_ratio(0.5, m)',
    'count_values("v", m % 3)',
    'count_values("v", n_total < 5 or abs(m))',
    'abs(m)',
    'clamp(m, 2, 7)',
    'round(m, 3)',
    'hour(m * 3600)',
  ],
  ...['minute()', 'vector(time())', 'vector(scalar(m{i="0"}))', 'absent(m{i="1"})', 'timestamp(m)', 'timestamp(-m)'],
  ...[
    'label_replace(m, "j", "$1", "i", "(.*)")',
    'label_join(m, "j", "-", "i", "g")',
    'sort(m)',
    'sort_by_label(m, "i")',
  ],
  ...['histogram_quantile(0.5, b)', 'histogram_quantile(2, b)', 'histogram_quantiles(b, "q", 0.1, 0.9)'],
  ...['histogram_count(h)', 'histogram_quantile(0.5, h)', 'histogram_fraction(0, 1, b)', 'vector(max_of(1, time()))'],
  ...['rate(n_total[5m])', 'increase(h[5m])', 'sum_over_time(m[10m])', 'avg_over_time(h[3m])', 'changes(m[7m])'],
  ...['quantile_over_time(0.4, m[9m])', 'mad_over_time(m[9m])', 'stddev_over_time(m[9m])', 'max_over_time(m[9m])'],
  ...[
    'deriv(m[9m])',
    'predict_linear(m[9m], 60)',
    'double_exponential_smoothing(m[9m], 0.3, 0.6)',
    'irate(n_total[5m])',
  ],
  ...[
    'absent_over_time(m{i="1"}[3m])',
    'present_over_time(m[5m])',
    'ts_of_max_over_time(m[9m])',
    'last_over_time(m[4m])',
  ],
  ...['max_over_time(sum(m)[9m:1m])', 'rate(n_total[5m] smoothed)', 'resets(n_total[9m] anchored)', 'm smoothed'],
];

/** A clock that advances 10 ms per call, so that queries yield as often as possible. */
function hurriedClock(): Clock & { readonly yields: () => number } {
  let looks = 0;
  let yields = 0;
  return {
    ...systemClock,
    monotonicMs: () => looks++ * 10,
    yield: () => {
      yields++;
      return systemClock.yield();
    },
    yields: () => yields,
  };
}

function limitsOf(clock: Clock): QueryLimits {
  return new QueryLimits({ samplesMax: 1e9, timeoutMs: 1e9, signal: new AbortController().signal, clock });
}

function ranked(values: Float64Array, rank: number): Promise<RankedValue> {
  const limits = limitsOf(systemClock);
  return limits.scheduler.finish(valueAtRank(values, rank, limits));
}

/** Returns the result of a query with its annotations, or its error. */
async function outcomeOf(query: string, limits: Partial<QueryLimitOptions>): Promise<unknown> {
  try {
    const { value, warnings, infos } = await runPromql(DATA, query, { atS: 3600 }, limits);
    if (value.kind !== 'matrix' && value.kind !== 'vector') return { value, warnings, infos };
    const all: readonly (SampleSeries | StepSeries)[] = value.series;
    const series = all.map((one) => {
      const { histograms = [] } = one;
      const times = 'times' in one ? [...one.times] : [];
      return { labels: one.labels.key, times, values: [...one.values], histograms: [...histograms] };
    });
    // The order of series in an instant query is not specified.
    return { series: series.sort((a, b) => (a.labels < b.labels ? -1 : 1)), warnings, infos };
  } catch (error) {
    return String(error);
  }
}

describe('chunks of many steps', () => {
  for (const vector of VECTORS) {
    it(`join to the result of one chunk: ${vector}`, async () => {
      for (const query of [`(${vector})[1h:30s]`, `last_over_time((${vector})[1h:30s])`]) {
        const whole = await outcomeOf(query, { stepsPerChunk: 1000 });
        expect(whole, query).not.to.be.a('string');
        for (const stepsAtOnce of [1, 7]) {
          expect(await outcomeOf(query, { stepsPerChunk: stepsAtOnce }), `${query} by ${stepsAtOnce}`).to.deep.equal(
            whole,
          );
        }
      }
    });
  }

  it('yield between chunks and within long windows', async () => {
    for (const query of [
      'count_over_time((vector(time()) * 2 + 3)[2d:1s])',
      'mad_over_time(vector(time())[2d:1s])',
      'stdvar_over_time(vector(time())[2d:1s])',
      'double_exponential_smoothing(vector(time())[2d:1s], 0.5, 0.5)',
      'rate(vector(time())[2d:1s])',
      'avg_over_time(vector(1e308)[2d:1s])',
    ]) {
      const clock = hurriedClock();
      await runPromql([], query, { atS: 1_000_000 }, { clock, timeoutMs: 1e9 });
      expect(clock.yields(), query).to.be.greaterThan(20);
    }
  });

  it('yield between many series', async () => {
    const many = Array.from({ length: 10_000 }, (_, i) => series('m', { i: `${i}`, g: `${i % 2500}` }, [i]));
    const queries = ['m * on(i) group_left m', 'sum by (i) (m) / sum by (i) (m)', 'sort(m)', 'topk(4500, m)', 'm + 1'];
    const others = ['label_replace(m, "j", "$1", "i", "(.*)")', 'count_values("v", m)', 'abs(m)', 'm or m', 'm'];
    for (const query of [...queries, ...others, 'quantile by (g) (0.5, m)', 'clamp(m, 1, 2)', 'm[5m]']) {
      const clock = hurriedClock();
      await runPromql(many, query, {}, { clock, timeoutMs: 1e9 });
      expect(clock.yields(), query).to.be.greaterThan(10);
    }
  });
});

describe('selection by rank', () => {
  const odd = [NaN, -0, 0, Infinity, -Infinity, 1, -1, 5e-324, -5e-324, 1.5, 1.5, 2 ** 60, -(2 ** 60), NaN];

  it('returns the same values as sorting', async () => {
    const values = Float64Array.from({ length: 5000 }, (_, i) => (i % 3 === 0 ? odd[i % odd.length] : Math.sin(i) * i));
    const numbers = values.filter((x) => !Number.isNaN(x)).sort();
    const sorted = [...new Array<number>(values.length - numbers.length).fill(NaN), ...numbers];
    for (let rank = 0; rank < values.length; rank += 13) {
      const { value, next } = await ranked(values, rank);
      expect(Object.is(value, sorted[rank]), `${rank}`).to.equal(true);
      expect(Object.is(next, sorted[rank + 1]), `after ${rank}`).to.equal(true);
    }
    expect((await ranked(values, values.length - 1)).next).to.be.NaN;
  });

  it('computes quantiles of many values', async () => {
    const values = Float64Array.from({ length: 100_001 }, (_, i) => (i * 7919) % 100_001);
    for (const [q, expected] of [
      [0, 0],
      [0.25, 25_000],
      [0.5, 50_000],
      [0.999995, 99_999.5],
      [1, 100_000],
    ]) {
      const limits = limitsOf(hurriedClock());
      expect(await limits.scheduler.finish(quantileOf(q, values, limits)), `${q}`).to.be.closeTo(expected, 1e-6);
    }
  });
});

describe('sortedInSlices', () => {
  it('is stable', async () => {
    const items = Array.from({ length: 10_001 }, (_, i) => ({ i, key: (i * 31) % 97 }));
    const clock = hurriedClock();
    const sorted = await sortedInSlices(items, (a, b) => a.key - b.key, limitsOf(clock).scheduler);
    expect(sorted).to.deep.equal([...items].sort((a, b) => a.key - b.key));
    expect(clock.yields()).to.be.greaterThan(5);
  });
});
