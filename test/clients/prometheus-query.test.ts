import { expect } from 'chai';
import {
  PrometheusDriver,
  type InstantVector,
  type Metric,
  type RangeVector,
  type SampleValue,
} from 'prometheus-query';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { bodyV1 } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000_000;
const END = T0 + 8 * 15_000;

describe('the client library prometheus-query', () => {
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    const samples = Array.from({ length: 9 }, (_, i) => ({ value: 2 * i, timestamp: T0 + i * 15_000 }));
    const series = ['a', 'b'].map((host) => {
      return { labels: [['__name__', 'lib_total'] as const, ['host', host] as const], samples };
    });
    const metadata = [{ type: 1, metric_family_name: 'lib_total', help: 'Calls.', unit: '' }];
    const body = Uint8Array.from(compressSync(bodyV1(series, metadata)));
    expect((await almanac.post('/v1/prometheus/write', body)).status).to.equal(204);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  for (const preferPost of [false, true]) {
    describe(preferPost ? 'by POST' : 'by GET', () => {
      let driver: PrometheusDriver;
      before(() => {
        driver = new PrometheusDriver({ endpoint: almanac.url, baseURL: '/v1/prometheus/api/v1', preferPost });
      });

      it('runs queries', async () => {
        const { resultType, result } = await driver.instantQuery('sum by (host) (lib_total)', new Date(END));
        const vector = result as InstantVector[];
        expect(resultType).to.equal('vector');
        expect(vector.map(({ metric, value }) => [metric.labels, (value as SampleValue).value])).to.deep.equal([
          [{ host: 'a' }, 16],
          [{ host: 'b' }, 16],
        ]);
        const range = await driver.rangeQuery('rate(lib_total{host="a"}[1m])', END - 30_000, END, '15s');
        const [matrix] = range.result as RangeVector[];
        expect(matrix.values.map(({ value }: SampleValue) => value)).to.have.length(3);
        for (const { value } of matrix.values as SampleValue[]) expect(value).to.be.closeTo(2 / 15, 1e-12);
        expect((await driver.instantQuery('1 + 1', END, '10s')).resultType).to.equal('scalar');
        const failed: unknown = await driver.instantQuery('sum(').catch((error: unknown) => error);
        expect(failed).to.deep.include({ status: 'error', errorType: 'http_error', httpStatus: 400 });
        expect(failed).to.have.property('error').that.contains('unclosed left parenthesis');
      });

      it('lists labels and series', async () => {
        const series = await driver.series('lib_total', T0, END);
        expect(series.map(({ name, labels }: Metric) => [name, labels])).to.deep.equal([
          ['lib_total', { host: 'a' }],
          ['lib_total', { host: 'b' }],
        ]);
        expect(await driver.labelNames('lib_total', T0, END)).to.deep.equal(['__name__', 'host']);
        expect(await driver.labelValues('host', ['lib_total'], T0, END)).to.deep.equal(['a', 'b']);
        expect(await driver.labelValues('host', 'nothing')).to.deep.equal([]);
        expect(await driver.metadata('lib_total')).to.deep.equal({
          lib_total: [{ type: 'counter', help: 'Calls.', unit: '' }],
        });
      });

      it('requests what Almanac does not have', async () => {
        expect(await driver.targets('active')).to.deep.include({ activeTargets: [], droppedTargets: [] });
        expect(await driver.targetsMetadata('{job="x"}', 'm', 2)).to.deep.equal([]);
        expect(await driver.rules()).to.deep.equal([]);
        expect(await driver.alerts()).to.deep.equal([]);
        expect(await driver.alertmanagers()).to.deep.equal({ activeAlertmanagers: [], droppedAlertmanagers: [] });
        for (const administer of [
          () => driver.adminSnapshot(true),
          () => driver.adminDeleteSeries('lib_total', T0, END),
          () => driver.adminCleanTombstones(),
        ]) {
          const refused: unknown = await administer().catch((error: unknown) => error);
          expect(refused).to.deep.include({ httpStatus: 503, error: 'admin APIs disabled' });
        }
      });

      it('requests the state of the server', async () => {
        expect(await driver.status()).to.deep.equal({ yaml: '' });
        expect(await driver.statusFlags()).to.have.property('query.lookback-delta', '5m');
        expect(await driver.statusRuntimeInfo()).to.have.property('startTime');
        expect(await driver.statusBuildinfo()).to.have.property('version');
        expect(await driver.statusTSDB()).to.have.property('headStats');
      });
    });
  }
});
