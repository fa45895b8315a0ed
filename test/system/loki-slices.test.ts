import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const BASE = '/v1/loki/loki/api/v1';
const START_S = 1_700_000_000;
const BATCHES = 12;
const BATCH_LINES = 10_000;
const LEVELS = ['info', 'warn', 'error', 'debug'];
const QUERY = 'sum by (level) (count_over_time({app="shop"} | logfmt | duration >= 0ms [1h]))';

describe('LogQL queries that parse many lines', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
    for (let batch = 0; batch < BATCHES; batch++) {
      const values = Array.from({ length: BATCH_LINES }, (_none, i) => {
        const line = batch * BATCH_LINES + i;
        const text = `level=${LEVELS[line % 4]} msg="request finished" path=/items/${line % 1000} duration=${line % 977}ms`;
        return [`${START_S}${String(line).padStart(9, '0')}`, text];
      });
      const body = JSON.stringify({ streams: [{ stream: { app: 'shop' }, values }] });
      const reply = await almanac.post(`${BASE}/push`, body, { 'content-type': 'application/json' });
      expect(reply.status, reply.text).to.equal(204);
    }
  });

  after(() => almanac.stop());

  for (const query of [QUERY, QUERY.replace('| duration', '| line_format "{{.path}}" | duration')]) {
    it(`let other requests run meanwhile: ${query}`, async () => {
      const beganMs = performance.now();
      let tookMs = 0;
      const parameters = new URLSearchParams({ query, time: `${START_S + 60}` });
      const running = almanac.get(`${BASE}/query?${parameters.toString()}`).finally(() => {
        tookMs = performance.now() - beganMs;
      });
      let longestMs = 0;
      while (tookMs === 0) {
        const sentMs = performance.now();
        expect((await almanac.get('/health')).status).to.equal(200);
        longestMs = Math.max(longestMs, performance.now() - sentMs);
      }
      const reply = await running;
      expect(reply.status, reply.text).to.equal(200);
      expect(reply.text.split(`"${(BATCHES * BATCH_LINES) / 4}"`)).to.have.length(LEVELS.length + 1);
      // The stages take most of the time of the query.
      expect(longestMs).to.be.below(tookMs / 4);
    });
  }
});
