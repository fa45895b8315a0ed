import { expect } from 'chai';
import { Logger } from 'splunk-logging';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('splunk-logging', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  it('sends events in batches', async () => {
    const url = `${almanac.url}/v1/splunk/services/collector/event/1.0`;
    const logger = new Logger({ url, token: 'user:password', maxBatchCount: 0 });
    const failures: Error[] = [];
    logger.error = (error) => failures.push(error);
    const metadata = { time: 1_700_000_000.25, host: 'w1', source: 'app', sourcetype: 'json', index: 'shop' };
    logger.send({ message: { order: 7, items: ['a', 'b'] }, severity: 'info', metadata });
    logger.send({
      message: { order: 8, items: [] },
      severity: 'error',
      metadata: { ...metadata, time: 1_700_000_001 },
    });
    const body = await new Promise((resolve, reject) => {
      logger.flush((error, _response, reply) =>
        error === undefined || error === null ? resolve(reply) : reject(error),
      );
    });
    expect(body).to.deep.equal({ text: 'Success', code: 0 });
    expect(failures).to.deep.equal([]);
    const { rows, text } = await almanac.sql(
      'SELECT host, source, sourcetype, "event.message.order", "event.message.items", "event.severity", ' +
        'CAST(epoch_ns(almanac_timestamp) AS VARCHAR) FROM shop ORDER BY almanac_timestamp',
    );
    expect(rows, text).to.deep.equal([
      ['w1', 'app', 'json', 7, '["a","b"]', 'info', '1700000000250000000'],
      ['w1', 'app', 'json', 8, '[]', 'error', '1700000001000000000'],
    ]);
  });

  it('may send fractions after whole numbers, which JavaScript does not distinguish', async () => {
    const body = (load: unknown): string => JSON.stringify({ event: { load }, host: 'fractions' });
    for (const load of [1, 0.5, 2]) {
      const { status, text } = await almanac.post('/v1/splunk/services/collector', body(load));
      expect([status, text]).to.deep.equal([200, '{"text":"Success","code":0}']);
    }
    for (const load of [3, 0.25]) {
      const lines = `{"create":{"_index":"fractions"}}\n${JSON.stringify({ load })}\n`;
      expect((await almanac.post('/v1/elasticsearch/_bulk', lines)).text).to.include('"errors":false');
    }
    const rows = await almanac.rows(`SELECT "event.load" FROM splunk_logs WHERE host = 'fractions' ORDER BY 1`);
    expect(rows).to.deep.equal([[0.5], [1], [2]]);
    expect(await almanac.rows('SELECT load FROM fractions ORDER BY 1')).to.deep.equal([[0.25], [3]]);
  });
});
