import { expect } from 'chai';

import { LabelBook } from '#services/gateway/protocols/remotewrite/worker/label-book';
import { ROW_BYTES, RowArrays } from '#services/gateway/protocols/remotewrite/worker/row-arrays';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { bitsOf, RemoteWriteRig } from '#test/support/remote-write-rig';

function series(i: number, value: number, timestamp: number): Series {
  return {
    labels: [
      ['__name__', `m${i % 7}`],
      ['instance', `host-${i}`],
    ],
    samples: [{ value, timestamp }],
  };
}

/** A book that knows what a gateway has learnt from bodies. */
function bookOf(rig: RemoteWriteRig, ...bodies: readonly Buffer[]): LabelBook {
  for (const body of bodies) rig.decode(1, body);
  const book = new LabelBook();
  for (const [number, { labels }] of rig.cache.numbered.all.entries()) book.add(number, labels);
  return book;
}

interface Row {
  readonly labels: Readonly<Record<string, string>>;
  readonly bits: bigint | undefined;
  readonly time: bigint;
}

const ROWS_MAX = 4_000;
const arrays = new RowArrays(new SharedArrayBuffer(ROWS_MAX * ROW_BYTES));

function rowsOf(rig: RemoteWriteRig, book: LabelBook, body: Buffer): Row[] | undefined {
  const rowCount = book.match(Buffer.from(Uint8Array.from(body).buffer), arrays);
  if (rowCount === 0) return undefined;
  const { numbers, times, values } = arrays.first(rowCount);
  const bits = new BigUint64Array(values.buffer, values.byteOffset, rowCount);
  return Array.from({ length: rowCount }, (_, row) => {
    const tags = rig.cache.numbered.entries[numbers[row]].tags;
    return {
      labels: Object.fromEntries(tags.map(({ name, value }) => [name, Buffer.from(value).toString()])),
      bits: bits[row],
      time: times[row],
    };
  });
}

describe('LabelBook', () => {
  const first = Array.from({ length: 3_000 }, (_, i) => series(i, i, 1_700_000_000_000));

  it('reads bodies of known series as the decoder does, in any order', () => {
    const rig = new RemoteWriteRig();
    const book = bookOf(rig, bodyV1(first));
    const values = [0, -0, NaN, Infinity, 1e300, -1];
    for (const order of [first, [...first].reverse(), first.slice(100, 700), [...first.slice(0, 3), ...first]]) {
      const body = bodyV1(
        order.map(({ labels }, i) => ({
          labels,
          samples: [{ value: values[i % 6], timestamp: [-5, 0, 1e15][i % 3] }],
        })),
      );
      const expected = rig.decode(1, body).rows.map(({ labels, bits, time }) => ({ labels, bits, time }));
      expect(rowsOf(rig, book, body)).to.deep.equal(expected);
    }
    expect(bitsOf(0)).to.equal(0n);
  });

  it('leaves bodies with anything else', () => {
    const rig = new RemoteWriteRig();
    const book = bookOf(rig, bodyV1(first));
    const leaves = (body: Buffer): Chai.Assertion => expect(rowsOf(rig, book, body)).to.equal(undefined);
    const [one, two] = first;
    leaves(Buffer.alloc(0));
    leaves(bodyV1([one, series(5_000, 1, 1)]));
    leaves(bodyV1([one, { ...two, samples: [] }]));
    leaves(bodyV1([one, { ...two, samples: [...(two.samples ?? []), { value: 1, timestamp: 2 }] }]));
    leaves(bodyV1([{ ...one, samples: [{ value: 1, timestamp: 2, startTimestamp: 3 } as never] }, { labels: [] }]));
    leaves(Buffer.concat([bodyV1([one]), Buffer.from([0x1a, 0x00])]));
    leaves(Buffer.concat([bodyV1([one]), Buffer.from([0x28, 0x01])]));
  });

  it('leaves bodies of more rows than the arrays have', () => {
    const rig = new RemoteWriteRig();
    const book = bookOf(rig, bodyV1(first));
    const bodyOf = (count: number): Buffer => bodyV1(Array.from({ length: count }, (_, i) => series(i % 3_000, i, i)));
    expect(rowsOf(rig, book, bodyOf(ROWS_MAX))).to.have.length(ROWS_MAX);
    expect(rowsOf(rig, book, bodyOf(ROWS_MAX + 1))).to.equal(undefined);
  });

  it('never reads a damaged body differently from the decoder', () => {
    const rig = new RemoteWriteRig();
    const body = bodyV1(first.slice(0, 5));
    const book = bookOf(rig, bodyV1(first), body);
    const look = (bytes: Buffer): void => {
      let found: Row[] | undefined;
      try {
        found = rowsOf(rig, book, bytes);
      } catch {
        found = undefined;
      }
      if (found === undefined) return;
      const { rows, rejectedCount } = rig.decode(1, bytes);
      expect(found).to.deep.equal(rows.map(({ labels, bits, time }) => ({ labels, bits, time })));
      expect(rejectedCount).to.equal(0);
    };
    for (let end = 0; end < body.length; end++) look(body.subarray(0, end));
    for (let at = 0; at < body.length; at++) {
      for (const byte of [0, 1, 9, 0x0a, 0x10, 0x12, 0x18, 0x7f, 0x80, 0xff]) {
        const bytes = Buffer.from(body);
        bytes[at] = byte;
        look(bytes);
      }
    }
  });
});
