import { expect } from 'chai';

import { typeAt, typesFrom } from '#shared/schema/former-types';
import { hasEveryValue, whyNoChange, type ChangedField } from '#shared/schema/type-change';

const NAMES = [
  ...'String Binary Json Boolean Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64 Date'.split(' '),
  ...'TimestampSecond TimestampMillisecond TimestampMicrosecond TimestampNanosecond'.split(' '),
  'Decimal(5, 2)',
];

const field = (type: string, ...former: string[]): ChangedField => ({
  type,
  formerTypes: former.map((it) => ({ type: it })),
  indexes: [],
});

function targetsOf(from: string): string {
  return NAMES.filter((name) => name !== from && hasEveryValue(from, name)).join(' ');
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
    const may = hasEveryValue;
    expect(may('Decimal(5, 2)', 'Decimal(6, 3)')).to.equal(true);
    expect(may('Decimal(5, 2)', 'Decimal(5, 3)')).to.equal(false);
    expect(may('Decimal(5, 2)', 'Decimal(9, 1)')).to.equal(false);
    expect(may('Int64', 'Decimal(19, 0)')).to.equal(true);
    expect(may('Int64', 'Decimal(18, 0)')).to.equal(false);
    expect(may('UInt64', 'Decimal(20, 0)')).to.equal(true);
  });

  it('distinguish unrelated types from those that would lose some values', () => {
    const merged = { merge_mode: 'last_non_null' };
    expect(whyNoChange(field('Boolean'), 'Date', merged)).to.equal('');
    expect(whyNoChange(field('Int64'), 'Int32', merged)).to.equal(
      "not every value of type 'Int64' is one, as merge_mode last_non_null requires",
    );
  });

  it('are not necessary if the last row replaces earlier ones', () => {
    const targets = (from: string): string =>
      NAMES.filter((name) => name !== from && whyNoChange(field(from), name, {}) === undefined).join(' ');
    const numbers = 'Boolean Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64';
    const times = 'TimestampSecond TimestampMillisecond TimestampMicrosecond TimestampNanosecond';
    expect(targets('String')).to.equal(`${numbers} Date ${times} Decimal(5, 2)`);
    expect(targets('Float64')).to.equal(`String ${numbers.replace(' Float64', '')} Decimal(5, 2)`);
    expect(targets('Json')).to.equal('String');
    expect(targets('Date')).to.equal('String');
    expect(targets('Binary')).to.equal('');
  });

  it('come back only if they were text in between', () => {
    expect(whyNoChange(field('String', 'Int32'), 'Int32', {})).to.equal(undefined);
    expect(whyNoChange(field('Int32', 'String'), 'String', {})).to.match(/older values have this type/);
    expect(whyNoChange(field('String', 'Int32', 'Float64'), 'Int32', {})).to.match(/older values have this type/);
    expect(whyNoChange(field('String', 'Int32', 'Float64'), 'Float64', {})).to.equal(undefined);
  });

  it('have no index for texts', () => {
    const indexed = { ...field('String'), indexes: [{ kind: 'FULLTEXT' }] };
    expect(whyNoChange(indexed, 'Int32', {})).to.equal('unset its FULLTEXT index first');
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
