import { expect } from 'chai';
import fc from 'fast-check';

import { evaluatePromql, runPromql, series } from '#test/support/promql-source';

/** Returns the value of a query at 5 minutes, over one series with a sample per minute. */
async function at5(samples: readonly (number | undefined)[], query: string): Promise<unknown> {
  return Object.values(await evaluatePromql([series('m_total', {}, samples)], query, { atS: 300 })).flat()[0];
}

describe('range functions', () => {
  it('extrapolate to the ends of the window, not below zero', async () => {
    expect(await at5([0, 60, 120, 180, 240, 300], 'increase(m_total[5m])')).to.equal(300);
    expect(await at5([0, 60, 120, 180, 240, 300], 'rate(m_total[5m])')).to.equal(1);
    // The first sample is 10, so the counter was zero 10 s earlier.
    expect(await at5([undefined, undefined, 10, 70, 130, 190], 'increase(m_total[5m])')).to.be.closeTo(190, 1e-9);
    expect(await at5([undefined, undefined, 600, 660, 720, 780], 'increase(m_total[5m])')).to.be.closeTo(210, 1e-9);
    expect(await at5([undefined, undefined, undefined, undefined, undefined, 1], 'rate(m_total[5m])')).to.equal(
      undefined,
    );
  });

  it('add the increase that resets lost', async () => {
    expect(await at5([0, 10, 20, 5, 15, 25], 'increase(m_total[4m30s])')).to.be.closeTo((15 + 20) * (270 / 240), 1e-9);
    expect(await at5([0, 10, 20, 5, 15, 25], 'delta(m_total[4m30s])')).to.be.closeTo(15 * (270 / 240), 1e-9);
    expect(await at5([0, 10, 20, 5, 15, 25], 'resets(m_total[10m])')).to.equal(1);
    expect(await at5([0, 10, 20, 5, 15, 5], 'irate(m_total[10m])')).to.equal(5 / 60);
    expect(await at5([0, 10, 20, 5, 15, 5], 'idelta(m_total[10m])')).to.equal(-10);
  });

  it('detect resets by the start time of a counter', async () => {
    const base = series('m_total', {}, [100, 100, 150, 200]);
    const one = { ...base, startTimes: Float64Array.from([0, 0, 90_000, 90_000]) };
    expect(await evaluatePromql([one], 'resets(m_total[5m])', { atS: 180 })).to.deep.equal({ '{}': [1] });
    expect(await evaluatePromql([one], 'increase(m_total[3m])', { atS: 180 })).to.deep.equal({ '{}': [300] });
    const young = { ...series('m_total', {}, [undefined, 6]), startTimes: Float64Array.from([30_000]) };
    expect(await evaluatePromql([young], 'increase(m_total[2m])', { atS: 60 })).to.deep.equal({ '{}': [6] });
    expect(await evaluatePromql([young], 'start_timestamp(m_total)', { atS: 60 })).to.deep.equal({ '{}': [30] });
  });

  it('count series with overlapping start times', async () => {
    const overlapping = (name: string) => ({
      ...series('m_total', { name }, [60, 120, 180], 60),
      startTimes: Float64Array.from([-120_000, -60_000, -120_000]),
    });
    const { warnings } = await runPromql([overlapping('a'), overlapping('b')], 'rate(m_total[3m])', { atS: 120 });
    const text = 'sample has start time that overlaps with previous sample timestamp for metric "m_total"';
    expect(warnings).to.deep.equal([`PromQL warning: ${text} (2 occurrences) (1:6)`]);
  });

  it('aggregate over time', async () => {
    const samples = [undefined, 3, 1, NaN, 2, 4];
    const over = (name: string): Promise<unknown> => at5(samples, `${name}(m_total[5m])`);
    expect(await over('count_over_time')).to.equal(5);
    expect(await over('min_over_time')).to.equal(1);
    expect(await over('max_over_time')).to.equal(4);
    expect(await over('sum_over_time')).to.be.NaN;
    expect(await over('first_over_time')).to.equal(3);
    expect(await over('last_over_time')).to.equal(4);
    expect(await over('changes')).to.equal(4);
    expect(await over('ts_of_max_over_time')).to.equal(300);
    expect(await over('ts_of_min_over_time')).to.equal(120);
    const plain = [undefined, 3, 1, 5, 2, 4];
    expect(await at5(plain, 'avg_over_time(m_total[5m])')).to.equal(3);
    expect(await at5(plain, 'quantile_over_time(0.25, m_total[5m])')).to.equal(2);
    expect(await at5(plain, 'stdvar_over_time(m_total[5m])')).to.equal(2);
    expect(await at5(plain, 'mad_over_time(m_total[5m])')).to.equal(1);
    expect(await at5([undefined, 1e308, 1e308, 1e308], 'avg_over_time(m_total[5m])')).to.equal(1e308);
    expect(await at5([undefined, 1e100, 1, -1e100, 1], 'sum_over_time(m_total[5m])')).to.equal(2);
  });

  it('fit lines and smooth values', async () => {
    const line = [0, 60, 120, 180, 240, 300];
    expect(await at5(line, 'deriv(m_total[5m])')).to.be.closeTo(1, 1e-12);
    expect(await at5(line, 'predict_linear(m_total[5m], 60)')).to.be.closeTo(360, 1e-9);
    expect(await at5(line, 'double_exponential_smoothing(m_total[5m], 0.5, 0.5)')).to.be.closeTo(300, 1e-9);
    await expectError(
      'double_exponential_smoothing(m_total[5m], 2, 0.5)',
      'invalid smoothing factor. Expected: 0 < sf < 1, got: 2.000000',
    );
  });

  it('return the same for block sums as for sums sample by sample', async () => {
    const values = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 200, maxLength: 300 });
    const at = { atS: 0, endS: 3000, stepS: 70 };
    await fc.assert(
      fc.asyncProperty(values, async (samples) => {
        const all = [series('m_total', {}, samples, 10)];
        const windows = Array.from({ length: 43 }, (_, step) => {
          const end = step * 70;
          return samples.filter((_, i) => i * 10 <= end && i * 10 > end - 1500);
        });
        const check = async (name: string, of: (window: number[]) => number): Promise<void> => {
          const [got] = Object.values(await evaluatePromql(all, `${name}(m_total[1500s])`, at)) as number[][];
          for (const [step, window] of windows.entries()) {
            if (window.length > 0) expect(got[step], `${name} at ${step}`).to.be.closeTo(of(window), 1e-6);
          }
        };
        await check('sum_over_time', (window) => window.reduce((sum, x) => sum + x, 0));
        await check('avg_over_time', (window) => window.reduce((sum, x) => sum + x, 0) / window.length);
        await check('max_over_time', (window) => Math.max(...window));
        await check('min_over_time', (window) => Math.min(...window));
        await check('resets', (window) => window.filter((x, i) => i > 0 && x < window[i - 1]).length);
      }),
      { numRuns: 10 },
    );
  });

  it('warn about windows with floats and histograms', async () => {
    const histogram = {
      schema: 0,
      count: 1,
      sum: 1,
      zeroThreshold: 0,
      zeroCount: 1,
      positive: NONE,
      negative: NONE,
      custom: [],
      hint: 'unknown' as const,
    };
    const all = [series('m', {}, [1, histogram])];
    const { warnings } = await runPromql(all, 'rate(m[5m])', { atS: 60 });
    expect(warnings).to.deep.equal([
      'PromQL warning: encountered a mix of histograms and floats for metric name "m" (1:6)',
    ]);
    const { infos } = await runPromql(all, 'max_over_time(m[5m])', { atS: 60 });
    expect(infos).to.deep.equal([
      'PromQL info: ignored histograms in a range containing both floats and histograms for metric name "m" (1:15)',
    ]);
  });

  it('note that a metric name is not that of a counter', async () => {
    const { infos } = await runPromql([series('m', {}, [1, 2])], 'rate(m[5m])', { atS: 60 });
    expect(infos).to.deep.equal([
      'PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "m" (1:6)',
    ]);
  });
});

const NONE = { indexes: [], counts: [] };

async function expectError(query: string, text: string): Promise<void> {
  const failure = await runPromql([series('m_total', {}, [1, 2])], query, { atS: 60 }).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).to.be.instanceOf(Error).with.property('message', text);
}
