import { expect } from 'chai';
import fc from 'fast-check';

import { bodyV1, decodeV1 } from '#test/support/remote-write-messages';
import { field, one, RemoteWriteRig, row, type MetricRow } from '#test/support/remote-write-rig';

describe('remote write 1.0 alone', () => {
  it('decodes what protobufjs decodes, in any order of fields and with unknown ones', () => {
    const rig = new RemoteWriteRig();
    const label = fc.tuple(
      fc.constantFrom('__name__', 'a', 'b', 'c'),
      fc.constantFrom('', 'x', 'long value'.repeat(20)),
    );
    const sample = fc.record({ value: fc.double(), timestamp: fc.maxSafeInteger() });
    const pieces = fc.array(fc.oneof(label, sample, fc.constant('unknown' as const)), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 5 }), (series) => {
        const body = Buffer.concat(series.map((it) => field(0x0a, Buffer.concat(it.map(encodedPiece)))));
        const reference = decodeV1(body) as unknown as { timeseries: ReferenceSeries[] };
        const expected = reference.timeseries.flatMap(referenceRows);
        expect(rig.decode(1, body).rows).to.deep.equal(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('stores metadata once, and again if it was not stored', () => {
    const rig = new RemoteWriteRig();
    const metadata = [
      { type: 1, metric_family_name: 'm', help: 'Help "of" m.', unit: 's' },
      { type: 99, metric_family_name: 'n' },
      { type: 1, metric_family_name: '' },
    ];
    const first = rig.decode(1, bodyV1([], metadata), false).rows;
    expect(first.map(({ table, labels, time }) => [table, labels, time])).to.deep.equal([
      ['greptime_metric_metadata', { metric: 'm', type: 'counter', unit: 's', help: 'Help "of" m.' }, 0n],
      ['greptime_metric_metadata', { metric: 'n', type: 'unknown' }, 0n],
    ]);
    expect(rig.decode(1, bodyV1([], metadata)).rows).to.deep.equal(first);
    expect(rig.decode(1, bodyV1([], metadata)).rows).to.deep.equal([]);
  });

  it('rejects bytes that are not UTF-8, or replaces them in lossy mode', () => {
    const body = bodyV1([
      one([
        ['__name__', 'm'],
        ['a', 'UUUU'],
      ]),
    ]);
    body.write('\xff\xfe', body.indexOf('UUUU'), 'latin1');
    const strict = new RemoteWriteRig().decode(1, body);
    expect(strict.rows).to.deep.equal([]);
    expect(strict.reasons[0]).to.match(/^value of label "a" is not valid UTF-8/);
    const lossy = new RemoteWriteRig({ isLossy: true }).decode(1, body);
    expect(lossy.rows).to.deep.equal([row({ __name__: 'm', a: '\ufffd\ufffdUU' }, 1)]);
  });

  it('accepts only names of Prometheus 2 in legacy mode', () => {
    const rig = new RemoteWriteRig({ isLegacy: true });
    const { reasons } = rig.decode(
      1,
      bodyV1([
        one([
          ['__name__', 'm'],
          ['http.method', 'x'],
        ]),
      ]),
    );
    expect(reasons[0]).to.match(/^invalid label name "http\.method"/);
  });

  it('reports many rejected series in a short reply', () => {
    const bad = Array.from({ length: 5_000 }, (_, i) => one([['i', String(i).padStart(300, 'x')]]));
    const { rejectedCount, reasons } = new RemoteWriteRig().decode(1, bodyV1(bad));
    expect(rejectedCount).to.equal(5_000);
    expect(reasons.join('').length).to.be.lessThan(9_000);
  });
});

interface ReferenceSeries {
  readonly labels: { readonly name: string; readonly value: string }[];
  readonly samples: { readonly value: number; readonly timestamp: { toString(): string } }[];
}

function referenceRows({ labels, samples }: ReferenceSeries): MetricRow[] {
  const names = labels.map(({ name }) => name);
  const metric = labels.find(({ name }) => name === '__name__')?.value ?? '';
  if (metric === '' || new Set(names).size < names.length) return [];
  const kept = labels.filter(({ value }) => value !== '').sort((a, b) => (a.name < b.name ? -1 : 1));
  const own = Object.fromEntries(kept.map(({ name, value }) => [name, value]));
  return samples.map(({ value, timestamp }) => ({ ...row(own, value), time: BigInt(timestamp.toString()) }));
}

function encodedPiece(piece: readonly [string, string] | { value: number; timestamp: number } | 'unknown'): Buffer {
  if (piece === 'unknown') return Buffer.concat([field(0x7a, Buffer.from('x')), Buffer.from([0x70, 0x05])]);
  if ('value' in piece) {
    const whole = bodyV1([{ labels: [], samples: [piece] }]);
    return whole.subarray(2);
  }
  const [name, value] = piece;
  return field(0x0a, Buffer.concat([field(0x12, Buffer.from(value)), field(0x0a, Buffer.from(name))]));
}
