import { expect } from 'chai';

import { logTables } from '#services/gateway/dashboard/app/screens/logs/search/log-table';
import { linesSql } from '#services/gateway/dashboard/app/screens/logs/search/log-sql';
import { parseSearch, SearchError } from '#services/gateway/dashboard/app/screens/logs/search/search';
import { searchSql } from '#services/gateway/dashboard/app/screens/logs/search/search-sql';

import { COLUMN_ROWS, tableOf } from './tables.js';

const sql = (text: string, table = 'app_log'): string => {
  const node = parseSearch(text);
  if (node === undefined) throw new Error('empty');
  return searchSql(node, tableOf(table));
};

describe('the SQL of a search of logs', () => {
  it('lists tables of logs before others with a text, and none without a text', () => {
    expect(logTables(COLUMN_ROWS).map(({ name, isLog }) => `${name} ${isLog}`)).to.deep.equal([
      'app_log true',
      'loki_logs true',
      'opentelemetry_logs true',
      'spans false',
    ]);
    expect(tableOf('opentelemetry_logs')).to.include({ lineColumn: 'body', levelColumn: 'severity_text' });
  });

  it('quotes every text', () => {
    expect(sql(`"it's"`)).to.equal(`coalesce(matches_term(lower("message"), 'it''s'), FALSE)`);
    expect(sql(`message="'; DROP TABLE x"`)).to.equal(`coalesce("message" = '''; DROP TABLE x', FALSE)`);
  });

  it('compares numbers as numbers, and refuses a text', () => {
    expect(sql('status>=500')).to.equal('coalesce("status" >= 500, FALSE)');
    expect(sql('status!=200')).to.equal('("status" <> 200 OR "status" IS NULL)');
    expect(() => sql('status=abc')).to.throw(SearchError, '"status" is a number');
  });

  it('compares levels by what they mean', () => {
    expect(sql('level>=error')).to.match(/^lower\(.*\) IN \('fatal', 'panic'.*'error', 'err'.*\)$/);
    expect(sql('level!=warn')).to.match(/NOT IN \('warn', 'warning', 'w', '40'\)$/);
    expect(sql('level=custom')).to.equal(`coalesce("level" = 'custom', FALSE)`);
    expect(sql('level>=warn', 'loki_logs')).to.include('regexp_extract(coalesce("line"');
    expect(sql('level>=warn', 'opentelemetry_logs')).to.include('"severity_number" BETWEEN 17 AND 20');
  });

  it('reads members of JSON', () => {
    expect(sql('log_attributes.user=5', 'opentelemetry_logs')).to.equal(
      `coalesce(json_extract_string("log_attributes", '$."user"') = '5', FALSE)`,
    );
  });

  it('names the columns there are when a field is unknown', () => {
    expect(() => sql('a nope=1')).to.throw(SearchError, 'no column "nope": it has level, status, message');
  });

  it('bounds the time, and excludes the end', () => {
    const selection = { table: tableOf('app_log'), search: parseSearch('x'), range: { fromMs: 0, toMs: 1500 } };
    expect(linesSql(selection, false, 10)).to.equal(
      `SELECT * FROM "app_log"\nWHERE "ts" >= '1970-01-01T00:00:00.000Z' AND "ts" < '1970-01-01T00:00:01.500Z'\n` +
        `  AND coalesce(matches_term(lower("message"), 'x'), FALSE)\nORDER BY "ts" DESC\nLIMIT 10`,
    );
  });
});
