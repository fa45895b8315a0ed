import { createHash } from 'node:crypto';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000;
const SERIES = 100;
const SAMPLES = 1_200;
/** Any number of `a` and `b` up to 2,000, in thousands of states at once. */
const MANY_STATES = '(?:a?b?){1000}';
/** Each matches every value of `w`, with `x` after it none. They take some seconds together, or one alone with its groups. */
const SLOW = [1000, 999, 998, 997, 996, 995].map((most) => `(?:[0-7]?[-4-9a-f]?){${most}}`);
const VALUES = 40_000;

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
    'a pattern that takes long for one value',
    `label_replace(label_replace(m{i="1"}, "i", "${'ab'.repeat(500)}", "i", ".*"), "j", "$1", "i", "(${MANY_STATES})c?")`,
    `start=${T0}&end=${T0}&step=1`,
    422,
    /regular expression takes too long/,
  ],
  [
    'a pattern that is short and becomes a million instructions',
    `m{i=~"(?:${'a?b?'.repeat(300)}){1000}"}`,
    `start=${T0}&end=${T0}&step=1`,
    400,
    /expression too large/,
  ],
  [
    'labels that grow',
    `label_join(${'label_join('.repeat(8)}m${', "i", "", "i", "i", "i", "i")'.repeat(8)}, "i", "", "i", "i", "i", "i")`,
    `start=${T0}&end=${T0 + 60}&step=15`,
    422,
    /label value of the query is longer/,
  ],
];

/** Looks like a UUID. */
function idOf(i: number): string {
  const hash = createHash('sha256').update(String(i)).digest('hex');
  return hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

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

  before(async () => {
    const lines = Array.from({ length: VALUES }, (_, i) => `w,host=${idOf(i)} v=${i} ${T0}`);
    await almanac.written(lines.join('\n'), 'precision=s');
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
    it(`ends with Prometheus's message: ${name}`, async () => {
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

  it('lets other requests be served while a query computes', async () => {
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
    it(`lets other requests be served within one window of millions of steps: ${query}`, async () => {
      const heavy = ask(query, `start=${T0}&end=${T0}&step=1`);
      expect(await servedDuring(heavy)).to.be.greaterThan(10);
      expect((await heavy).status).to.be.oneOf([200, 422]);
    });
  }

  it('ends a query at its deadline within one window', async () => {
    const heavy = ask('mad_over_time(vector(time())[280d:1s])', `start=${T0}&end=${T0}&step=1&timeout=200ms`);
    await servedDuring(heavy);
    const { status, text } = await heavy;
    expect(status).to.equal(503);
    expect(text).to.match(/timed out/);
  });

  for (const [kind, query] of [
    ['a query', `w{${SLOW.map((pattern) => `host=~"${pattern}"`).join(',')}}`],
    ['what leaves out', `w{${SLOW.map((pattern) => `host!~"${pattern}x"`).join(',')}}`],
    ['label_replace', `label_replace(w, "a", "$1", "host", "(${SLOW[0]}x)")`],
  ] as const) {
    it(`lets other requests be served between values of a pattern, and ends at its deadline: ${kind}`, async () => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const body = new URLSearchParams({ query, time: String(T0), timeout: '1500ms' }).toString();
      const heavy = almanac.post('/v1/prometheus/api/v1/query', body, headers);
      expect(await servedDuring(heavy)).to.be.greaterThan(10);
      const { status, text } = await heavy;
      expect(status, text.slice(0, 300)).to.equal(503);
    });
  }

  it('lets other requests be served while series are searched by a pattern', async () => {
    const selector = encodeURIComponent(`w{host=~"${SLOW[0]}x"}`);
    const heavy = almanac.get(`/v1/prometheus/api/v1/series?match[]=${selector}`);
    expect(await servedDuring(heavy)).to.be.greaterThan(10);
    expect((await heavy).status).to.equal(200);
  });
});
