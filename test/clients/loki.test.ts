import { once } from 'node:events';

import { expect } from 'chai';
import pino from 'pino';
import { pinoLoki } from 'pino-loki';
import { createLogger } from 'winston';
import LokiTransport from 'winston-loki';

import { Almanac } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

describe('clients of Loki', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  it('pino-loki pushes JSON', async () => {
    const stream = pinoLoki({
      host: almanac.url,
      endpoint: 'v1/loki/api/v1/push',
      labels: { app: 'pino' },
      structuredMetaKey: 'meta',
      batching: false,
    });
    const log = pino({ base: null }, stream);
    log.info({ meta: { user: '7' } }, 'first "line"');
    log.error('second');
    const closed = once(stream, 'close');
    stream.end();
    await closed;
    let rows: unknown[][] = [];
    // pino-loki closes without waiting for its requests.
    await eventually(async () => {
      ({ rows } = await almanac.sql(
        "SELECT level, line, structured_metadata FROM loki_logs WHERE app = 'pino' ORDER BY almanac_timestamp, level DESC",
      ));
      return rows.length === 2;
    });
    const [first, second] = rows;
    expect([first[0], second[0]]).to.deep.equal(['info', 'error']);
    expect(JSON.parse(String(first[1]))).to.include({ msg: 'first "line"' });
    expect(first[2]).to.deep.equal({ user: '7' });
    expect(JSON.parse(String(second[1]))).to.include({ msg: 'second' });
  });

  for (const json of [true, false]) {
    it(`winston-loki pushes ${json ? 'JSON' : 'protobuf'}`, async () => {
      const app = `winston-${json ? 'json' : 'protobuf'}`;
      const transport = new LokiTransport({
        host: `${almanac.url}/v1`,
        labels: { app },
        json,
        batching: true,
        interval: 3_600,
      });
      const log = createLogger({ transports: [transport] });
      log.info('first line', { labels: { zone: 'a' } });
      log.warn('second line', { labels: { zone: 'b' } });
      // Sends what is left, and resolves when the server has replied.
      await transport.close();
      const { rows, text } = await almanac.sql(
        `SELECT level, zone, line FROM loki_logs WHERE app = '${app}' ORDER BY zone`,
      );
      expect(rows, text).to.have.length(2);
      expect(rows.map(([level, zone]) => [level, zone])).to.deep.equal([
        ['info', 'a'],
        ['warn', 'b'],
      ]);
      expect(rows[0][2]).to.contain('first line');
      expect(rows[1][2]).to.contain('second line');
    });
  }
});
