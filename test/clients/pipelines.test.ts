import { expect } from 'chai';
import { Logger } from 'splunk-logging';
import { createLogger } from 'winston';
import LokiTransport from 'winston-loki';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };

describe('clients whose logs go through pipelines', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function upload(name: string, text: string): Promise<void> {
    const reply = await almanac.post(`/v1/pipelines/${name}`, text, YAML);
    expect(reply.status, reply.text).to.equal(200);
  }

  for (const json of [true, false]) {
    it(`winston-loki pushes ${json ? 'JSON' : 'protobuf'}`, async () => {
      const table = `winston_${json ? 'json' : 'protobuf'}`;
      await upload(
        'winston',
        "processors:\n  - dissect: {field: loki_line, pattern: '%{verb} %{ms}ms%{?rest}'}\n" +
          'transform:\n  - {field: "loki_label_app, app", type: string, tag: true}\n  - {field: verb, type: string}\n' +
          '  - {field: ms, type: int32}\n  - {field: almanac_timestamp, type: timestamp, index: timestamp}\n',
      );
      const headers = { 'x-almanac-pipeline-name': 'winston', 'x-almanac-log-table-name': table };
      const host = `${almanac.url}/v1`;
      const transport = new LokiTransport({ host, labels: { app: 'shop' }, json, headers, interval: 3_600 });
      const log = createLogger({ transports: [transport] });
      log.info('GET 12ms');
      log.warn('PUT 7ms');
      // Sends what is left, and resolves when the server has replied.
      await transport.close();
      expect(await almanac.rows(`SELECT app, verb, ms FROM ${table} ORDER BY ms`)).to.deep.equal([
        ['shop', 'PUT', 7],
        ['shop', 'GET', 12],
      ]);
    });
  }

  it('splunk-logging sends events', async () => {
    await upload(
      'orders',
      'processors:\n  - simple_extract: {field: "event, order", key: message.order}\n' +
        '  - simple_extract: {field: "event, severity", key: severity}\n' +
        'transform:\n  - {field: host, type: string, tag: true}\n  - {field: order, type: int64}\n  - {field: severity, type: string}\n' +
        '  - {field: almanac_timestamp, type: timestamp, index: timestamp}\n',
    );
    const url = `${almanac.url}/v1/splunk/services/collector/event/1.0?pipeline_name=orders`;
    const logger = new Logger({ url, token: 'user:password', maxBatchCount: 0 });
    const metadata = { time: 1_700_000_000.25, host: 'w1', source: 'app', sourcetype: 'json', index: 'orders' };
    logger.send({ message: { order: 7 }, severity: 'info', metadata });
    logger.send({ message: { order: 8 }, severity: 'error', metadata });
    const body = await new Promise((resolve, reject) => {
      logger.flush((error, _response, reply) =>
        error === undefined || error === null ? resolve(reply) : reject(error),
      );
    });
    expect(body).to.deep.equal({ text: 'Success', code: 0 });
    const columns = 'host, "order", severity, CAST(epoch_ns(almanac_timestamp) AS VARCHAR)';
    expect(await almanac.rows(`SELECT ${columns} FROM orders ORDER BY "order"`)).to.deep.equal([
      ['w1', 7, 'info', '1700000000250000000'],
      ['w1', 8, 'error', '1700000000250000000'],
    ]);
  });
});
