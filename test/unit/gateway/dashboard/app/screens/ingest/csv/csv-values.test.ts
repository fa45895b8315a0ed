import { expect } from 'chai';

import { guessEpoch, guessType, sqlValue } from '#services/gateway/dashboard/app/screens/ingest/csv/csv-values';

describe('values of CSV files', () => {
  it('have the narrowest type that fits all of them', () => {
    for (const [texts, type] of [
      [['1', '', ' -20 '], 'BIGINT'],
      [['9223372036854775807'], 'BIGINT'],
      [['9223372036854775808'], 'DOUBLE'],
      [['1', '2.5', '1e9', 'NaN', '-inf'], 'DOUBLE'],
      [['true', 'FALSE'], 'BOOLEAN'],
      [['1', 'x'], 'STRING'],
      [['1', 'constructor'], 'STRING'],
      [['', ' '], 'STRING'],
      [['2026-11-21', '2026-11-21 10:00'], 'TIMESTAMP(3)'],
      [['2026-11-21T10:00:00.123456Z'], 'TIMESTAMP(6)'],
      [['2026-11-21 10:00:00.123456789+05:30'], 'TIMESTAMP(9)'],
      [['2026-02-30'], 'STRING'],
      [['2026-11-21 25:00'], 'STRING'],
    ] as const) {
      expect(guessType(texts), texts.join(' ')).to.equal(type);
    }
  });

  it('are times since 1970 if they are large enough, in a unit that depends on their size', () => {
    expect(guessEpoch(['1700000000', '1700000001'])).to.equal('TIMESTAMP(0)');
    expect(guessEpoch(['1700000000000'])).to.equal('TIMESTAMP(3)');
    expect(guessEpoch(['1700000000000000'])).to.equal('TIMESTAMP(6)');
    expect(guessEpoch(['1700000000000000000'])).to.equal('TIMESTAMP(9)');
    for (const texts of [['20260101'], ['1700000000', '12'], ['1.5'], []]) {
      expect(guessEpoch(texts)).to.equal(undefined);
    }
  });

  it('are written as SQL, or refused', () => {
    for (const [text, type, sql] of [
      ["it's", 'STRING', "'it''s'"],
      ["'; DROP TABLE t; --", 'String', "'''; DROP TABLE t; --'"],
      ['', 'STRING', 'NULL'],
      [' ', 'STRING', "' '"],
      [' ', 'BIGINT', 'NULL'],
      ['+7', 'BIGINT', '7'],
      ['1.0', 'BIGINT', undefined],
      ['1); DROP TABLE t; --', 'BIGINT', undefined],
      ['300', 'UInt8', undefined],
      ['-1', 'UInt64', undefined],
      ['255', 'UInt8', '255'],
      ['40000', 'smallint unsigned', '40000'],
      ['40000', 'smallint', undefined],
      ['2147483648', 'int', undefined],
      ['-9223372036854775808', 'bigint', '-9223372036854775808'],
      ['1e400', 'DOUBLE', undefined],
      ['.5', 'Float64', '0.5'],
      ['nan', 'DOUBLE', "'NaN'"],
      ['12.30', 'Decimal(5, 2)', "'12.30'"],
      ['nan', 'Decimal(5, 2)', undefined],
      ['Yes', 'BOOLEAN', 'true'],
      ['2', 'BOOLEAN', undefined],
      ['constructor', 'BOOLEAN', undefined],
      ['__proto__', 'DOUBLE', undefined],
      ['2026-11-21', 'Date', "'2026-11-21'"],
      ['2026-11-31', 'Date', undefined],
      ['2026-11-21T10:00', 'TIMESTAMP(3)', "'2026-11-21 10:00:00'"],
      ['2026-11-21 10:00:00,5 +0200', 'TIMESTAMP(3)', "'2026-11-21 10:00:00.5+02:00'"],
      ['1700000000', 'TimestampSecond', '1700000000'],
      ['yesterday', 'TimestampMillisecond', undefined],
    ] as const) {
      expect(sqlValue(text, type), `${text} as ${type}`).to.equal(sql);
    }
  });
});
