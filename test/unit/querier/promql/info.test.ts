import { expect } from 'chai';

import { evaluatePromql, series } from '#test/support/promql-source';

/** A sample every minute from 0 to 12 minutes; the target was upgraded at 5 minutes. */
const TARGET = { instance: 'a', job: 'j' };
const METRIC = series('metric', TARGET, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
const OLD = series('target_info', { ...TARGET, version: 'old' }, [1, 1, 1, 1, 1, 'stale']);
const NEW = series('target_info', { ...TARGET, version: 'new' }, [...Array<undefined>(5), 1, 1, 1, 1, 1, 1, 1, 1]);

/** Returns `version` of the only result series at 12 minutes. */
async function versionOf(query: string): Promise<string | undefined> {
  const [labels] = Object.keys(await evaluatePromql([METRIC, OLD, NEW], query, { atS: 720 }));
  return /version="(\w+)"/.exec(labels)?.[1];
}

describe('info', () => {
  const cases: readonly (readonly [query: string, version: string])[] = [
    ['info(metric)', 'new'],
    ['info(metric @ 120)', 'old'],
    ['info(metric offset 10m)', 'old'],
    ['info(metric @ 420 offset 5m)', 'old'],
    ['info(last_over_time(metric[2m] @ 120))', 'old'],
    ['info(last_over_time(metric[2m] @ 420 offset 5m))', 'old'],
    ['info(last_over_time(metric[2m:1m] offset 10m))', 'old'],
    ['info(sum_over_time(metric[2m:1m] @ 120))', 'old'],
    ['info(last_over_time(metric[2m:1m] @ 420 offset 5m))', 'old'],
    ['info(sum_over_time((metric offset 5m)[2m:1m] offset 5m))', 'old'],
    ['info(max_over_time((metric offset 5m)[2m:1m] @ 420))', 'old'],
    // An inner `@` is absolute.
    ['info(max_over_time((metric @ 720)[2m:1m] offset 10m))', 'new'],
    ['info(avg_over_time(sum_over_time(metric[2m:1m] offset 5m)[2m:1m] offset 5m))', 'old'],
    ['info(abs(-metric @ 120))', 'old'],
    ['info(sum by (instance, job) (metric @ 120))', 'old'],
    // Selectors of scalars do not provide series.
    ['info(scalar(other @ 720) * 0 + 1 + (metric @ 120 > bool 0))', 'old'],
    ['info(metric @ 120 or metric @ 180 offset 1m)', 'old'],
    // Without a common time, info series are read at the evaluation time.
    ['info(metric @ 120 or metric @ 180)', 'new'],
    ['info(metric @ 120 or label_replace(vector(1), "x", "y", "", ""))', 'new'],
  ];
  for (const [query, version] of cases) {
    it(`reads info series at the time of the samples: ${query}`, async () => {
      expect(await versionOf(query)).to.equal(version);
    });
  }

  it('evaluates pinned expressions once for all steps', async () => {
    const range = { atS: 0, endS: 720, stepS: 240 };
    const found = await evaluatePromql([METRIC, OLD, NEW], 'info(last_over_time(metric[2m:1m] @ 120))', range);
    expect(found).to.deep.equal({ '{__name__="metric", instance="a", job="j", version="old"}': [2, 2, 2, 2] });
  });

  it('reads info series at each step if the samples are from different times', async () => {
    const found = await evaluatePromql([METRIC, OLD, NEW], 'info(metric @ 120 or metric @ 180)', {
      atS: 0,
      endS: 720,
      stepS: 240,
    });
    expect(found).to.deep.equal({
      '{__name__="metric", instance="a", job="j", version="old"}': [2, 2, undefined, undefined],
      '{__name__="metric", instance="a", job="j", version="new"}': [undefined, undefined, 2, 2],
    });
  });
});
