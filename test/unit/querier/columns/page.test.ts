import { expect } from 'chai';

import { UnknownLayout } from '#shared/parquet/compact-protocol';
import { readPage } from '#services/querier/columns/page';

/** A field of a struct in Thrift's compact protocol: the next one, a number below 64. */
const number = (value: number): number[] => [0x15, 2 * value];
const FALSE = 0x12;
const STRUCT_OF_FIELD_8 = 0x5c;
const STOP = 0;

/** A page of version 2 that is not compressed, of some bytes, and the bytes that it has. */
function page(bytes: number, stored: readonly number[]): Uint8Array {
  const header = [...number(3), ...number(bytes), ...number(stored.length)];
  const data = [1, 0, 1, 0, 0, 0].flatMap(number);
  return Uint8Array.from([...header, STRUCT_OF_FIELD_8, ...data, FALSE, STOP, STOP, ...stored]);
}

describe('readPage', () => {
  it('reads a page that is not compressed', () => {
    const { bytes, from, to, valueCount } = readPage(page(4, [1, 2, 3, 4]), 0, false);
    expect([...bytes.subarray(from, to)]).to.deep.equal([1, 2, 3, 4]);
    expect(valueCount).to.equal(1);
  });

  it('refuses one that has fewer bytes than it says, also after a longer one', () => {
    readPage(page(60, new Array<number>(60).fill(7)), 0, false);
    for (const stored of [[], [1, 2, 3]]) {
      expect(() => readPage(page(4, stored), 0, false)).to.throw(UnknownLayout, 'cut off');
    }
  });
});
