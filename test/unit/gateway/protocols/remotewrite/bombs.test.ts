import { expect } from 'chai';

import { AlmanacError } from '#shared/errors/almanac-error';
import { bodyV1, bodyV2, type Series } from '#test/support/remote-write-messages';
import { field, one, RemoteWriteRig, TIME_MS } from '#test/support/remote-write-rig';

const SAMPLE = field(0x12, Buffer.from([0x10, 0x01]));

function symbols(texts: readonly Buffer[]): Buffer {
  return Buffer.concat(texts.map((text) => field(0x22, text)));
}

describe('remote write bodies that expand too far', () => {
  let rig: RemoteWriteRig;

  beforeEach(() => {
    rig = new RemoteWriteRig();
    rig.sliceBytes = 1_000_000;
  });

  it('are rejected with samples of no bytes', () => {
    const samples = Buffer.alloc(2 * 4_300_000, Buffer.from([0x12, 0x00]));
    const series = field(0x0a, Buffer.concat([bodyV1([one([['__name__', 'm']])]).subarray(2), samples]));
    expect(() => rig.decode(1, series)).to.throw(AlmanacError, 'more than 4194304 samples');
  });

  it('are rejected with very many labels', () => {
    const label = field(0x0a, Buffer.concat([field(0x0a, Buffer.from('a')), field(0x12, Buffer.from('b'))]));
    const series = field(0x0a, Buffer.concat([Buffer.alloc(label.length * 300_000, label), SAMPLE]));
    const [reason] = rig.decode(1, series).reasons;
    expect(reason).to.match(/^more than 4096 labels: series \{("a":"b",)+.*\.\.$/);
    expect(reason.length).to.be.lessThan(300);
    const refs = field(0x0a, Buffer.alloc(1_000_000, 1));
    const body = Buffer.concat([
      symbols([Buffer.alloc(0), Buffer.from('a')]),
      field(0x2a, Buffer.concat([refs, SAMPLE])),
    ]);
    expect(rig.decode(2, body).reasons[0]).to.match(/^more than 4096 labels: series \{("a":"a",)+.*\.\.$/);
  });

  it('are rejected with more labels than allowed, naming the metric', () => {
    const labels = Array.from({ length: 5000 }, (_, i) => [`A${i}`, 'x'.repeat(i === 0 ? 2_000 : 2)] as const);
    const series = [one([...labels.slice(0, 4000), ['__name__', 'm'], ...labels.slice(4000)])];
    for (const [version, body] of [
      [1, bodyV1(series)],
      [2, bodyV2(series)],
    ] as const) {
      const [reason] = rig.decode(version, body).reasons;
      expect(reason).to.match(/^more than 4096 labels: series \{"__name__":"m","A0":"x+\.\.$/);
      expect(reason.length).to.be.lessThan(300);
    }
  });

  it('are rejected with a long text in many labels, and in many series', () => {
    const names = Array.from({ length: 100 }, (_, i) => Buffer.from(`l${i}`));
    const texts = [Buffer.alloc(0), Buffer.from('__name__'), Buffer.from('m'), Buffer.alloc(30_000, 'x'), ...names];
    const all = names.flatMap((_, i) => [4 + i, 3]);
    const wide = field(0x2a, Buffer.concat([field(0x0a, Buffer.from([1, 2, ...all])), SAMPLE]));
    expect(rig.decode(2, Buffer.concat([symbols(texts), wide])).reasons[0]).to.match(
      /^labels of more than 1048576 bytes: series \{"__name__":"m","l0":"x{200,256}\.\.$/,
    );
    const ofPair = (a: number, b: number): Buffer =>
      field(0x2a, Buffer.concat([field(0x0a, Buffer.from([1, 2, 4 + a, 3, 4 + b, 3])), SAMPLE]));
    const many = names.flatMap((_, a) => names.slice(0, a).map((_other, b) => ofPair(a, b)));
    expect(() => rig.decode(2, Buffer.concat([symbols(texts), ...many]))).to.throw(
      AlmanacError,
      'labels have more than',
    );
  });

  it('are rejected with many exemplars of a series with long labels', () => {
    const labels = [
      ['__name__', 'm'],
      ['long', 'x'.repeat(10_000)],
    ] as const;
    const series = bodyV1([{ labels }]).subarray(3);
    const exemplars = Buffer.alloc(2 * 50_000, Buffer.from([0x1a, 0x00]));
    const { rows } = rig.decode(1, field(0x0a, Buffer.concat([series, exemplars])));
    expect(rows.length).to.be.within(1_000, 2_000);
  });

  it('are rejected with one long help of many metrics', () => {
    const help = 'h'.repeat(10_000);
    const series = Array.from({ length: 5_000 }, (_, i): Series => ({
      ...one([['__name__', `m${i}`]]),
      metadata: { type: 1, help, unit: '' },
    }));
    const { rows } = rig.decode(2, bodyV2(series));
    const metadata = rows.filter(({ table }) => table.endsWith('metadata'));
    expect(rows.length - metadata.length).to.equal(5_000);
    expect(metadata.length).to.be.within(1_000, 2_000);
  });

  it('are rejected with histograms of very many buckets', () => {
    const counts = Array.from({ length: 70_000 }, () => 1);
    const histogram = { count_float: 1, timestamp: TIME_MS, positive_counts: counts };
    const { reasons } = rig.decode(1, bodyV1([{ labels: [['__name__', 'm']], histograms: [histogram] }]));
    expect(reasons[0]).to.match(/^histogram has more than 65536 spans, buckets and bounds/);
  });
});
