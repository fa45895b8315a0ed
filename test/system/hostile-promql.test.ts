import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000;
const SERIES = 100;
const SAMPLES = 1_200;

/** Queries that would take without end, or all memory, and what they hear. */
const HOSTILE: readonly (readonly [name: string, query: string, range: string, status: number, error: RegExp])[] = [
  [
    'a range of ten million steps',
    'm',
    `start=${T0}&end=${T0 + 10_000_000}&step=1`,
    400,
    /exceeded maximum resolution/,
  ],
  [
    'subqueries in subqueries',
    'max_over_time(max_over_time(max_over_time(sum(m)[1d:1ms])[1d:1ms])[1d:1ms])',
    `start=${T0}&end=${T0}&step=1`,
    422,
    /too many samples/,
  ],
  ['a pattern that backtracks', 'm{i=~"(((((a+)+)+)+)+)+b"}', `start=${T0}&end=${T0}&step=1`, 200, /^$/],
  [
    'a deep nest of parentheses',
    `${'('.repeat(20_000)}m${')'.repeat(20_000)}`,
    `start=${T0}&end=${T0}&step=1`,
    400,
    /./,
  ],
  [
    'labels that grow',
    `label_join(${'label_join('.repeat(8)}m${', "i", "", "i", "i", "i", "i")'.repeat(8)}, "i", "", "i", "i", "i", "i")`,
    `start=${T0}&end=${T0 + 60}&step=15`,
    422,
    /label value of the query is longer/,
  ],
];

describe('hostile PromQL', function () {
  this.timeout(180_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    for (let at = 0; at < SAMPLES; at += 100) {
      const lines: string[] = [];
      for (let i = 0; i < SERIES; i++) {
        for (let k = at; k < at + 100; k++) lines.push(`m,i=${i} v=${(i * 31 + k * 17) % 97} ${T0 + k * 3}`);
      }
      expect((await almanac.write(lines.join('\n'), 'precision=s')).status).to.equal(204);
    }
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  function ask(query: string, range: string): Promise<{ status: number; text: string }> {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    return almanac.post('/v1/prometheus/api/v1/query_range', `query=${encodeURIComponent(query)}&${range}`, form);
  }

  for (const [name, query, range, status, error] of HOSTILE) {
    it(`ends in Prometheus's words: ${name}`, async () => {
      const answer = await ask(query, range);
      const json = JSON.parse(answer.text) as { readonly error?: string };
      expect(answer.status, answer.text.slice(0, 300)).to.equal(status);
      expect(json.error ?? '').to.match(error);
      expect((await almanac.get('/health')).status).to.equal(200);
    });
  }

  it('lets others be served while a query computes', async () => {
    let isAnswered = false;
    const query = 'sum(quantile_over_time(0.9, m[30m]))';
    const heavy = ask(query, `start=${T0}&end=${T0 + SAMPLES * 3}&step=4`).finally(() => (isAnswered = true));
    let served = 0;
    while (!isAnswered) {
      const { status } = await almanac.get('/health');
      expect(status).to.equal(200);
      if (!isAnswered) served++;
    }
    expect((await heavy).status).to.equal(200);
    expect(served).to.be.greaterThan(10);
  });
});
