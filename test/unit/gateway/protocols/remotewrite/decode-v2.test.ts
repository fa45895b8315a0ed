import { expect } from 'chai';

import { AlmanacError } from '#shared/errors/almanac-error';
import { bodyV2, type Series } from '#test/support/remote-write-messages';
import { field, one, RemoteWriteRig, row, TIME_MS } from '#test/support/remote-write-rig';

describe('remote write 2.0 alone', () => {
  it('keeps start times', () => {
    const samples = [
      { value: 1, timestamp: TIME_MS, start_timestamp: TIME_MS - 5 },
      { value: 2, timestamp: TIME_MS + 1 },
    ];
    const { rows } = new RemoteWriteRig().decode(2, bodyV2([{ labels: [['__name__', 'm']], samples }]));
    expect(rows.map(({ startMs }) => startMs)).to.deep.equal([BigInt(TIME_MS - 5), undefined]);
  });

  it('stores metadata of each family once', () => {
    const rig = new RemoteWriteRig();
    const of = (name: string, help: string): Series => ({
      ...one([['__name__', name]]),
      metadata: { type: 3, help, unit: '' },
    });
    const body = bodyV2([of('m_bucket', 'h'), of('m_sum', 'h'), of('n', 'h')]);
    const metadata = (isKept: boolean, bytes = body): unknown[] =>
      rig
        .decode(2, bytes, isKept)
        .rows.filter(({ table }) => table.endsWith('metadata'))
        .map(({ labels }) => labels);
    const expected = [
      { metric: 'm', type: 'histogram', help: 'h' },
      { metric: 'n', type: 'histogram', help: 'h' },
    ];
    expect(metadata(false)).to.deep.equal(expected);
    expect(metadata(true)).to.deep.equal(expected);
    expect(metadata(true)).to.deep.equal([]);
    expect(metadata(true, bodyV2([of('n', 'other')]))).to.deep.equal([
      { metric: 'n', type: 'histogram', help: 'other' },
    ]);
  });

  it('refuses series with invalid references, and accepts the others', () => {
    const symbols = ['', '__name__', 'm'].map((text) => field(0x22, Buffer.from(text)));
    const sample = field(0x12, Buffer.from([0x10, 0x01]));
    const series = [[1, 2], [1, 99], [1]].map((refs) => {
      return field(0x2a, Buffer.concat([field(0x0a, Buffer.from(refs)), sample]));
    });
    const { rows, reasons } = new RemoteWriteRig().decode(2, Buffer.concat([...series, ...symbols]));
    expect(rows).to.deep.equal([row({ __name__: 'm' }, 0, 1)]);
    expect(reasons).to.deep.equal([
      'label reference 99 is out of range: series {}',
      'odd number of label references: series {}',
    ]);
  });

  it('accepts references that are not packed', () => {
    const symbols = ['', '__name__', 'm'].map((text) => field(0x22, Buffer.from(text)));
    const series = Buffer.from([0x08, 0x01, 0x08, 0x02, 0x12, 0x02, 0x10, 0x01]);
    const { rows } = new RemoteWriteRig().decode(2, Buffer.concat([...symbols, field(0x2a, series)]));
    expect(rows).to.deep.equal([row({ __name__: 'm' }, 0, 1)]);
  });

  it('refuses a table that does not begin with the empty text', () => {
    const decode = (): unknown => new RemoteWriteRig().decode(2, field(0x22, Buffer.from('a')));
    expect(decode).to.throw(AlmanacError, 'the first symbol must be the empty text');
  });

  it('refuses a table with too many texts', () => {
    const rig = new RemoteWriteRig();
    rig.sliceBytes = 1_000_000;
    const body = Buffer.alloc(2 * 1_100_000, Buffer.from([0x22, 0x00]));
    expect(() => rig.decode(2, body)).to.throw(AlmanacError, 'more than 1048576 symbols');
  });
});
