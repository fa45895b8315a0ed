import { expect } from 'chai';

import {
  createTableSql,
  guessColumns,
  hasEqualKeys,
  insertSql,
  matchColumns,
  problemOf,
  rowSql,
} from '#services/gateway/dashboard/app/screens/ingest/csv/csv-columns';

const ROWS = [
  ['2026-11-21 10:00:00', 'a', '1', 'first "note"'],
  ['2026-11-21 10:01:00', 'b', '2.5', 'second'],
  ['2026-11-21 10:02:00', 'a', '', 'third'],
];

describe('columns of CSV files', () => {
  it('become a table with tags, fields and a time index', () => {
    const columns = guessColumns(['time', 'host', 'load', 'note'], ROWS);
    expect(problemOf(columns)).to.equal('');
    expect(createTableSql('my "table"', columns, false)).to.equal(
      'CREATE TABLE "my ""table""" (\n' +
        '  "time" TIMESTAMP(3) TIME INDEX,\n  "host" STRING,\n  "load" DOUBLE,\n  "note" STRING,\n' +
        '  PRIMARY KEY ("host")\n)',
    );
    expect(insertSql('t', columns)).to.equal('INSERT INTO "t" ("time", "host", "load", "note") VALUES ');
  });

  it('keep all rows on request, which is proposed if some have the same tags and time', () => {
    const columns = guessColumns(['time', 'host', 'load', 'note'], ROWS);
    expect(createTableSql('t', columns, true)).to.match(/\) WITH \(append_mode = 'true'\)$/);
    expect(hasEqualKeys(columns, ROWS)).to.equal(false);
    expect(hasEqualKeys(columns, [...ROWS, ['2026-11-21 10:00:00', 'a', '9', 'again']])).to.equal(true);
  });

  it('have names of their own if the file has none, or the same twice', () => {
    const names = (header: string[] | undefined): (string | undefined)[] =>
      guessColumns(header, ROWS).map(({ target }) => target?.name);
    expect(names(undefined)).to.deep.equal(['column_1', 'column_2', 'column_3', 'column_4']);
    expect(names(['t', 'a', 'A', ''])).to.deep.equal(['t', 'a', 'A_2', 'column_4']);
  });

  it('find the time among whole numbers by its name and size', () => {
    const columns = guessColumns(
      ['count', 'ts'],
      [
        ['1700000000', '1700000000000'],
        ['1700000001', '1700000000500'],
      ],
    );
    expect(columns.map(({ target }) => [target?.type, target?.role])).to.deep.equal([
      ['BIGINT', 'field'],
      ['TIMESTAMP(3)', 'time index'],
    ]);
    expect(problemOf(guessColumns(['a'], [['1']]))).to.equal('Exactly one column must be the time index.');
  });

  it('are assigned to those of a table by name, or by place', () => {
    const table = {
      name: 't',
      columns: [
        { name: 'Host', type: 'String', role: 'tag' },
        { name: 'ts', type: 'TimestampMillisecond', role: 'time index' },
      ],
    } as const;
    const targets = (header: string[] | undefined): (string | undefined)[] =>
      matchColumns(guessColumns(header, [['1', 'a', 'x']]), table).map(({ target }) => target?.name);
    expect(targets(['TS', 'host', 'other'])).to.deep.equal(['ts', 'Host', undefined]);
    expect(targets(undefined)).to.deep.equal(['Host', 'ts', undefined]);
  });

  it('refuse rows with the reason', () => {
    const columns = guessColumns(['time', 'load'], [['2026-11-21 10:00:00', '1.5']]);
    const reasonOf = (cells: string[]): string => rowSql(cells, columns).reason;
    expect(rowSql(['2026-11-21', ''], columns)).to.deep.equal({ sql: "('2026-11-21 00:00:00', NULL)", reason: '' });
    expect(rowSql(['2026-11-21'], columns)).to.deep.equal({ sql: "('2026-11-21 00:00:00', NULL)", reason: '' });
    expect(reasonOf(['', '1'])).to.equal('time, the time index, is empty');
    expect(reasonOf(['2026-11-21', 'high'])).to.equal('load is "high", which is no DOUBLE');
    expect(reasonOf(['2026-11-21', '1', '2'])).to.equal('it has 3 values for 2 columns');
  });
});
