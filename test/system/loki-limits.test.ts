import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const BASE = '/v1/loki/loki/api/v1';
const JSON_TYPE = { 'content-type': 'application/json' };
const START_S = 1_700_000_000;
const RANGE = { start: `${START_S}000000000`, end: `${START_S + 60}000000000` };
const END = { time: `${START_S + 60}000000000` };

describe('limits of LogQL queries', () => {
  let limited: Almanac;

  before(async () => {
    limited = await Almanac.start(tempFolder(after), {
      environment: {
        ALMANAC_STANDALONE__LOKI_QUERY__MAX_SERIES: '2',
        ALMANAC_STANDALONE__LOKI_QUERY__MAX_LINES: '1000',
      },
    });
    const values = Array.from({ length: 3_000 }, (_none, i) => [`${START_S}00${String(i).padStart(7, '0')}`, `n=${i}`]);
    const streams = [0, 1, 2].map((i) => ({
      stream: { app: `a${i}` },
      values: values.slice(i * 1_000, (i + 1) * 1_000),
    }));
    expect((await limited.post(`${BASE}/push`, JSON.stringify({ streams }), JSON_TYPE)).status).to.equal(204);
  });

  after(() => limited.stop());

  const refuse = async (path: string, query: string): Promise<string> => {
    const reply = await limited.get(`${BASE}/${path}?${new URLSearchParams({ query, ...RANGE, ...END }).toString()}`);
    expect(reply.status, reply.text).to.equal(400);
    return reply.text;
  };

  it('refuses more series than allowed', async () => {
    expect(await refuse('query', 'count_over_time({}[2m])')).to.contain('maximum number of series (2) reached');
  });

  it('refuses to parse more lines than allowed, but lets the engine count them', async () => {
    expect(await refuse('query_range', '{} | logfmt | n > 5000')).to.contain('reads more than 1000 lines');
    const parameters = new URLSearchParams({ query: 'sum(count_over_time({} |= "n=" [2m]))', ...END });
    const reply = await limited.get(`${BASE}/query?${parameters.toString()}`);
    expect(reply.text).to.contain('"3000"');
  });
});
