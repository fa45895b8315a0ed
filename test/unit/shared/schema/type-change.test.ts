import { expect } from 'chai';

import { typeAt, typesFrom } from '#shared/schema/former-types';
import { whyNoChange } from '#shared/schema/type-change';

const NAMES = [
  ...'String Binary Json Boolean Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64 Date'.split(' '),
  ...'TimestampSecond TimestampMillisecond TimestampMicrosecond TimestampNanosecond'.split(' '),
  'Decimal(5, 2)',
];

function targetsOf(from: string): string {
  return NAMES.filter((name) => name !== from && whyNoChange(from, name) === undefined).join(' ');
}

describe('types that contain every value of another', () => {
  const targets: readonly (readonly [string, string])[] = [
    ['String', ''],
    ['Binary', ''],
    ['Json', 'String'],
    ['Boolean', 'String Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64'],
    ['Int8', 'String Int16 Int32 Int64 Float32 Float64 Decimal(5, 2)'],
    ['Int16', 'String Int32 Int64 Float32 Float64'],
    ['Int32', 'String Int64 Float64'],
    ['Int64', 'String Float64'],
    ['UInt8', 'String Int16 Int32 Int64 UInt16 UInt32 UInt64 Float32 Float64 Decimal(5, 2)'],
    ['UInt16', 'String Int32 Int64 UInt32 UInt64 Float32 Float64'],
    ['UInt32', 'String Int64 UInt64 Float64'],
    ['UInt64', 'String Float64'],
    ['Float32', 'String Float64'],
    ['Float64', 'String'],
    ['Date', 'String'],
    ['TimestampNanosecond', 'String'],
    ['Decimal(5, 2)', 'String'],
  ];
  for (const [from, wanted] of targets) {
    it(from, () => expect(targetsOf(from)).to.equal(wanted));
  }

  it('require no fewer digits on either side of the decimal point', () => {
    const may = (from: string, to: string): boolean => whyNoChange(from, to) === undefined;
    expect(may('Decimal(5, 2)', 'Decimal(6, 3)')).to.equal(true);
    expect(may('Decimal(5, 2)', 'Decimal(5, 3)')).to.equal(false);
    expect(may('Decimal(5, 2)', 'Decimal(9, 1)')).to.equal(false);
    expect(may('Int64', 'Decimal(19, 0)')).to.equal(true);
    expect(may('Int64', 'Decimal(18, 0)')).to.equal(false);
    expect(may('UInt64', 'Decimal(20, 0)')).to.equal(true);
  });

  it('distinguish unrelated types from those that would lose some values', () => {
    expect(whyNoChange('Boolean', 'Date')).to.equal('');
    expect(whyNoChange('Int64', 'Int32')).to.equal("not every value of type 'Int64' is one");
  });
});

describe('former types of a column', () => {
  const column = {
    type: 'String',
    formerTypes: [
      { type: 'Int32', lastVersion: 2 },
      { type: 'Float64', lastVersion: 5 },
    ],
  };

  it('follow from the version of the schema', () => {
    const types = [1, 2, 3, 5, 6, 9].map((version) => typeAt(column, version));
    expect(types).to.deep.equal(['Int32', 'Int32', 'Float64', 'Float64', 'String', 'String']);
  });

  it('are all applied, starting from any of them', () => {
    expect(typesFrom(column, 'Int32')).to.deep.equal(['Int32', 'Float64', 'String']);
    expect(typesFrom(column, 'Float64')).to.deep.equal(['Float64', 'String']);
    expect(typesFrom(column, 'String')).to.deep.equal(['String']);
    expect(typesFrom(column, 'Int64')).to.equal(undefined);
  });
});
