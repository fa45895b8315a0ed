import { expect } from 'chai';

import type { Buckets, CounterHint, Histogram } from '#services/querier/promql/histogram/histogram';
import { evaluatePromql, runPromql, series } from '#test/support/promql-source';

const NONE: Buckets = { indexes: [], counts: [] };

/** Returns a histogram with buckets from index 1 on: (1,2], (2,4], (4,8] in schema 0. */
function native(counts: readonly number[], more: Partial<Histogram> = {}): Histogram {
  const count = counts.reduce((all, one) => all + one, 0);
  const positive = { indexes: counts.map((_, i) => i + 1), counts };
  return { ...EMPTY, count, sum: 2 * count, positive, ...more };
}

const EMPTY: Histogram = {
  ...{ schema: 0, count: 0, sum: 0, zeroThreshold: 0.001, zeroCount: 0, positive: NONE, negative: NONE, custom: [] },
  hint: 'unknown',
};

const hinted = (count: number, hint: CounterHint): Histogram => native([count], { hint });

function classic(counts: Readonly<Record<string, number>>) {
  return Object.entries(counts).map(([le, count]) => series('m_bucket', { le }, [count]));
}

describe('histograms', () => {
  it('have counts, sums and quantiles', async () => {
    const all = [series('h', {}, [native([4, 4, 2])])];
    expect(await evaluatePromql(all, 'histogram_count(h)')).to.deep.equal({ '{}': [10] });
    expect(await evaluatePromql(all, 'histogram_sum(h)')).to.deep.equal({ '{}': [20] });
    expect(await evaluatePromql(all, 'histogram_avg(h)')).to.deep.equal({ '{}': [2] });
    // 4 of the 10 observations are up to 2; the fifth is at a quarter of (2,4], on a logarithmic scale.
    expect(await evaluatePromql(all, 'histogram_quantile(0.5, h)')).to.deep.equal({ '{}': [2 ** 1.25] });
    expect(await evaluatePromql(all, 'histogram_fraction(0, 2, h)')).to.deep.equal({ '{}': [0.4] });
    expect(await evaluatePromql(all, 'histogram_quantile(2, h)')).to.deep.equal({ '{}': [Infinity] });
  });

  it('interpolate within classic buckets', async () => {
    const all = classic({ '1': 2, '2': 6, '4': 9, '+Inf': 10 });
    expect(await evaluatePromql(all, 'histogram_quantile(0.5, m_bucket)')).to.deep.equal({ '{}': [1.75] });
    expect(await evaluatePromql(all, 'histogram_quantile(0.95, m_bucket)')).to.deep.equal({ '{}': [4] });
    expect(await evaluatePromql(all, 'histogram_fraction(1, 2, m_bucket)')).to.deep.equal({ '{}': [0.4] });
    const { infos } = await runPromql(classic({ '1': 5, '2': 3, '+Inf': 6 }), 'histogram_quantile(0.5, m_bucket)');
    expect(infos[0])
      .to.contain('needed to be fixed for monotonicity')
      .and.contain('from buckets 2 to 2, with a max diff of 2');
    const { warnings } = await runPromql(classic({ '1': 5, x: 3 }), 'histogram_quantile(0.5, m_bucket)');
    expect(warnings[0]).to.contain('bucket label "le" is missing or has a malformed value of "x"');
  });

  it('add up, with the coarser schema', async () => {
    const fine = native([1, 1], { schema: 1 });
    const all = [series('h', { a: 'x' }, [native([4])]), series('h', { a: 'y' }, [fine])];
    const { value } = await runPromql(all, 'sum(h)');
    const [sum] = value.kind === 'vector' ? value.series : [];
    expect(sum.histograms?.[0]).to.deep.include({ schema: 0, count: 6, positive: { indexes: [1], counts: [6] } });
  });

  it('increase between samples and across resets', async () => {
    const all = [series('h', {}, [native([0]), native([60]), native([120]), native([30])])];
    expect(await evaluatePromql(all, 'increase(h[3m])', { atS: 120 })).to.deep.equal({ '{}': [{ count: 120 }] });
    expect(await evaluatePromql(all, 'histogram_count(increase(h[4m]))', { atS: 180 })).to.deep.equal({ '{}': [150] });
    expect(await evaluatePromql(all, 'resets(h[4m])', { atS: 180 })).to.deep.equal({ '{}': [1] });
  });

  it('are scaled, compared and trimmed, but not mixed with floats', async () => {
    const all = [series('h', {}, [native([4, 4])]), series('f', {}, [1])];
    expect(await evaluatePromql(all, 'h * 2')).to.deep.equal({ '{}': [{ count: 16 }] });
    expect(await evaluatePromql(all, 'h == h')).to.deep.equal({ '{__name__="h"}': [{ count: 8 }] });
    expect(await evaluatePromql(all, 'h </ 2')).to.deep.equal({ '{__name__="h"}': [{ count: 4 }] });
    const { value, infos } = await runPromql(all, 'h + ignoring(x) f');
    expect(value).to.deep.equal({ kind: 'vector', series: [] });
    expect(infos).to.deep.equal([
      'PromQL info: incompatible sample types encountered for binary operator "+": histogram + float (1:1)',
    ]);
    expect((await runPromql(all, 'sum({__name__=~"h|f"})')).warnings).to.deep.equal([
      'PromQL warning: encountered a mix of histograms and floats for aggregation (1:5)',
    ]);
  });

  it('warn about conflicting resets if only counts are read', async () => {
    const all = [
      series('h', { a: 'x' }, [native([3]), native([2])]),
      series('h', { a: 'y' }, [native([2]), native([3])]),
    ];
    const warning = 'PromQL warning: conflicting counter resets during histogram aggregation (1:21)';
    expect((await runPromql(all, 'histogram_count(sum(h))', { atS: 60 })).warnings).to.deep.equal([warning]);
    expect((await runPromql(all, 'sum(h)', { atS: 60 })).warnings).to.deep.equal([]);
  });

  it('warn about gauges used as counters and counters used as gauges', async () => {
    const gauges = [series('h', {}, [hinted(1, 'gauge'), hinted(2, 'gauge')])];
    const counters = [series('h', {}, [hinted(1, 'unknown'), hinted(2, 'unknown')])];
    expect((await runPromql(gauges, 'rate(h[5m])', { atS: 60 })).warnings).to.deep.equal([
      'PromQL warning: this native histogram metric is not a counter: "h" (1:6)',
    ]);
    expect((await runPromql(counters, 'delta(h[5m])', { atS: 60 })).warnings).to.deep.equal([
      'PromQL warning: this native histogram metric is not a gauge: "h" (1:7)',
    ]);
  });

  describe('irate and idelta', () => {
    const custom = (bounds: readonly number[], counts: readonly number[]): Histogram => {
      const positive = { indexes: counts.map((_, i) => i), counts };
      const count = counts.reduce((all, one) => all + one, 0);
      return { ...EMPTY, schema: -53, zeroThreshold: 0, custom: bounds, count, sum: 2 * count, positive };
    };
    const mixed = 'vector contains a mix of histograms with exponential and custom buckets schemas';
    const notGauge = 'PromQL warning: this native histogram metric is not a gauge: "h" (1:8)';

    /** Returns the histogram at 1 minute, with the annotations. */
    async function at1(query: string, before: Histogram, after: Histogram | number) {
      const { value, warnings, infos } = await runPromql([series('h', {}, [before, after])], query, { atS: 60 });
      const histogram = value.kind === 'vector' ? value.series.at(0)?.histograms?.[0] : undefined;
      return { histogram, annotations: [...warnings, ...infos] };
    }

    it('subtract the previous histogram', async () => {
      const { histogram, annotations } = await at1('irate(h[5m])', native([60, 60]), native([120, 180]));
      expect(annotations).to.deep.equal([]);
      expect(histogram).to.deep.include({
        count: 3,
        sum: 6,
        hint: 'gauge',
        positive: { indexes: [1, 2], counts: [1, 2] },
      });
    });

    it('take the newest histogram after a counter reset', async () => {
      const { histogram, annotations } = await at1('irate(h[5m])', native([600]), native([60, 0, 60]));
      expect(annotations).to.deep.equal([]);
      expect(histogram).to.deep.include({ count: 2, hint: 'gauge', positive: { indexes: [1, 3], counts: [1, 1] } });
      const hintedReset = await at1('irate(h[5m])', native([60]), native([120], { hint: 'reset' }));
      expect(hintedReset.histogram).to.deep.include({ count: 2, hint: 'gauge' });
      const delta = await at1('idelta(h[5m])', native([600]), native([60]));
      expect(delta.histogram).to.deep.include({ count: -540, hint: 'gauge' });
      expect(delta.annotations).to.deep.equal([notGauge]);
    });

    it('take the newest histogram after a change between exponential and custom buckets', async () => {
      for (const [before, after] of [
        [native([60]), custom([1, 2], [60, 60])],
        [custom([1, 2], [60]), native([60, 60])],
      ]) {
        const { histogram, annotations } = await at1('irate(h[5m])', before, after);
        expect(annotations).to.deep.equal([]);
        expect(histogram).to.deep.include({ count: 2, schema: after.schema, hint: 'gauge' });
        const delta = await at1('idelta(h[5m])', before, after);
        expect(delta.histogram).to.equal(undefined);
        expect(delta.annotations).to.deep.equal([notGauge, `PromQL warning: ${mixed} for metric name "h" (1:8)`]);
      }
    });

    it('warn of layouts that cannot be subtracted although the hint excludes a reset', async () => {
      const after = { ...custom([1, 2], [60, 60]), hint: 'not_reset' as const };
      const { histogram, annotations } = await at1('irate(h[5m])', native([60]), after);
      expect(histogram).to.equal(undefined);
      expect(annotations).to.deep.equal([`PromQL warning: ${mixed} for metric name "h" (1:7)`]);
    });

    it('use the coarser schema', async () => {
      const fine = native([60, 60], { schema: 1 });
      // A finer schema is a reset, a coarser one is not.
      expect((await at1('irate(h[5m])', native([60]), fine)).histogram).to.deep.include({ schema: 1, count: 2 });
      expect((await at1('irate(h[5m])', fine, native([240]))).histogram).to.deep.include({ schema: 0, count: 2 });
    });

    it('reconcile custom bounds', async () => {
      const { histogram, annotations } = await at1(
        'irate(h[5m])',
        custom([1, 2, 4], [60, 0, 60]),
        custom([1, 4], [60, 180]),
      );
      expect(histogram).to.deep.include({ custom: [1, 4], count: 2, positive: { indexes: [1], counts: [2] } });
      expect(annotations).to.deep.equal([
        'PromQL info: mismatched custom buckets were reconciled during subtraction (1:7)',
      ]);
    });

    it('return nothing for a float next to a histogram', async () => {
      const { histogram, annotations } = await at1('irate(h[5m])', native([60]), 5);
      expect(histogram).to.equal(undefined);
      expect(annotations).to.deep.equal([
        'PromQL warning: encountered a mix of histograms and floats for metric name "h" (1:7)',
      ]);
    });
  });
});
