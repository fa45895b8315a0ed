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

  /** How often others were answered while a query was. */
  async function servedDuring(heavy: Promise<unknown>): Promise<number> {
    let isAnswered = false;
    const ended = heavy.finally(() => (isAnswered = true));
    let served = 0;
    while (!isAnswered) {
      const { status } = await almanac.get('/health');
      expect(status).to.equal(200);
      if (!isAnswered) served++;
    }
    await ended;
    return served;
  }

  it('lets others be served while a query computes', async () => {
    const heavy = ask('sum(quantile_over_time(0.9, m[30m]))', `start=${T0}&end=${T0 + SAMPLES * 3}&step=4`);
    expect(await servedDuring(heavy)).to.be.greaterThan(10);
    expect((await heavy).status).to.equal(200);
  });

  for (const query of [
    'mad_over_time(vector(time())[100d:1s])',
    'count_over_time((vector(time()) * 2 + 3 - vector(4))[50d:1s])',
    'double_exponential_smoothing(vector(time())[200d:1s], 0.5, 0.5)',
    'count_over_time(m[1y:1s])',
    'quantile_over_time(0.9, vector(time())[100d:1s])',
  ]) {
    it(`lets others be served within one window of millions of steps: ${query}`, async () => {
      const heavy = ask(query, `start=${T0}&end=${T0}&step=1`);
      expect(await servedDuring(heavy)).to.be.greaterThan(10);
      expect((await heavy).status).to.be.oneOf([200, 422]);
    });
  }

  it('ends a query in time within one window', async () => {
    const heavy = ask('mad_over_time(vector(time())[280d:1s])', `start=${T0}&end=${T0}&step=1&timeout=200ms`);
    await servedDuring(heavy);
    const { status, text } = await heavy;
    expect(status).to.equal(503);
    expect(text).to.match(/timed out/);
  });
});
