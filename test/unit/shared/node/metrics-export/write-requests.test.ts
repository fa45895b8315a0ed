import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { writeRequests } from '#shared/node/metrics-export/write-requests';
import { Metrics } from '#shared/telemetry/metrics';
import { RemoteWriteRig, type MetricRow } from '#test/support/remote-write-rig';

const TIME_MS = 1_700_000_000_123;

function doubleOf(bits: bigint | undefined): number {
  return new Float64Array(BigUint64Array.of(bits ?? 0n).buffer)[0];
}

describe('writeRequests', () => {
  async function exported(metrics: Metrics): Promise<(readonly MetricRow[])[]> {
    const rig = new RemoteWriteRig();
    const snapshot = { text: await metrics.print(), labels: { role: 'r', instance: 'i' }, timeMs: TIME_MS };
    const requests: (readonly MetricRow[])[] = [];
    for await (const request of writeRequests(snapshot, systemClock)) {
      const { rows, rejectedCount } = rig.decode(1, request);
      expect(rejectedCount).to.equal(0);
      requests.push(rows);
    }
    return requests;
  }

  it('encodes every kind of metric, whatever its values and labels', async () => {
    const metrics = new Metrics({ unprefixedProcess: false, ofProcess: false });
    const odd = 'a "quoted", {odd} = \\back\nline';
    metrics.gauge({ name: 'odd', help: 'of\\texts\nand values', labelNames: ['text'] }).set({ text: odd }, -0.1);
    metrics.gauge({ name: 'infinite', help: 'h' }).set(Infinity);
    metrics.gauge({ name: 'least', help: 'h' }).set(-Infinity);
    metrics.gauge({ name: 'none', help: 'h' }).set(NaN);
    metrics.counter({ name: 'counted_total', help: 'h', labelNames: ['role'] }).inc({ role: 'own' }, 3);
    metrics.histogram({ name: 'seconds', help: 'h', buckets: [0.5] }).observe(1);
    const [rows, ...further] = await exported(metrics);
    expect(further).to.deep.equal([]);
    const samples = rows
      .filter(({ bits }) => bits !== undefined)
      .map(({ labels, bits, time }) => {
        expect(time).to.equal(BigInt(TIME_MS));
        const { __name__: name, instance, ...rest } = labels;
        expect(instance).to.equal('i');
        return [name, rest, doubleOf(bits)];
      });
    expect(samples).to.deep.equal([
      ['almanac_odd', { role: 'r', text: odd }, -0.1],
      ['almanac_infinite', { role: 'r' }, Infinity],
      ['almanac_least', { role: 'r' }, -Infinity],
      ['almanac_none', { role: 'r' }, NaN],
      // Its own label takes precedence.
      ['almanac_counted_total', { role: 'own' }, 3],
      ['almanac_seconds_bucket', { le: '0.5', role: 'r' }, 0],
      ['almanac_seconds_bucket', { le: '+Inf', role: 'r' }, 1],
      ['almanac_seconds_sum', { role: 'r' }, 1],
      ['almanac_seconds_count', { role: 'r' }, 1],
    ]);
    const families = rows.filter(({ table }) => table === 'greptime_metric_metadata').map(({ labels }) => labels);
    expect(families).to.deep.include({ metric: 'almanac_odd', type: 'gauge', help: 'of\\texts\nand values' });
    expect(families).to.deep.include({ metric: 'almanac_seconds', type: 'histogram', help: 'h' });
    expect(families).to.have.length(6);
  });

  it('splits many series into several requests', async () => {
    const metrics = new Metrics({ unprefixedProcess: false, ofProcess: false });
    const gauge = metrics.gauge({ name: 'many', help: 'h', labelNames: ['n'] });
    for (let n = 0; n < 4_500; n++) gauge.set({ n: String(n) }, n);
    const requests = await exported(metrics);
    const counts = requests.map((rows) => rows.filter(({ bits }) => bits !== undefined).length);
    expect(counts).to.deep.equal([2_000, 2_000, 500]);
  });
});
