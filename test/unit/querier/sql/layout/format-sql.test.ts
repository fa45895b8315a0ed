import { expect } from 'chai';
import fc from 'fast-check';

import { formatSql } from '#services/querier/sql/layout/format-sql';
import { Kind, lexSql } from '#services/querier/sql/syntax/lex';
import { readText, repositoryFiles } from '#test/tidy/tree';

/** The tokens of a text without semicolons, words in lower case. */
function tokensOf(source: string): string[] {
  const tokens = lexSql(source);
  const all = Array.from({ length: tokens.count }, (_, i) => {
    return tokens.kind(i) === Kind.word ? tokens.raw(i).toLowerCase() : tokens.raw(i);
  });
  return all.filter((token) => token !== ';');
}

/** What is between the tokens, without white space. */
function commentsOf(source: string): string {
  const tokens = lexSql(source);
  const gaps = Array.from({ length: tokens.count + 1 }, (_, i) => {
    return source.slice(i === 0 ? 0 : tokens.end(i - 1), tokens.start(i));
  });
  return gaps.join('').replaceAll(/\s/g, '');
}

/** Statements of the fenced blocks of the documentation. */
function documentedStatements(): string[] {
  const pages = repositoryFiles().filter((path) => path.startsWith('docs/') && path.endsWith('.md'));
  return pages.flatMap((page) =>
    [...readText(page).matchAll(/^```sql\n([^]*?)^```$/gm)]
      .map(([, text]) => text)
      .filter((text) => !text.includes('-- error:')),
  );
}

function checkSame(source: string): void {
  const formatted = formatSql(source);
  expect(tokensOf(formatted)).to.deep.equal(tokensOf(source));
  expect(formatSql(formatted)).to.equal(formatted);
}

describe('layout of SQL', () => {
  for (const [name, source, formatted] of [
    ['leaves a short statement on one line', 'select  1', 'SELECT 1;'],
    [
      'begins a line for each clause of a longer one',
      "select host, avg(usage) as u from cpu where host = 'a' and dc in ('x','y') group by host order by u desc limit 10",
      "SELECT host, avg(usage) AS u\nFROM cpu\nWHERE host = 'a' AND dc IN ('x', 'y')\nGROUP BY host\nORDER BY u DESC\nLIMIT 10;",
    ],
    [
      'breaks long lists and conditions',
      'select first_long_column_name, second_long_column_name, third_long_column_name, fourth_name from t where first_long_column_name > 10 and second_long_column_name between 1 and 2 or third_long_column_name is null',
      'SELECT\n  first_long_column_name,\n  second_long_column_name,\n  third_long_column_name,\n  fourth_name\nFROM t\nWHERE first_long_column_name > 10\n  AND second_long_column_name BETWEEN 1 AND 2\n  OR third_long_column_name IS NULL;',
    ],
    [
      'indents subqueries',
      'select a from (select host, max(usage_user) as a from cpu group by host order by host limit 1000000) as s join t on s.a = t.b',
      'SELECT a\nFROM (\n  SELECT host, max(usage_user) AS a\n  FROM cpu\n  GROUP BY host\n  ORDER BY host\n  LIMIT 1000000\n) AS s\nJOIN t ON s.a = t.b;',
    ],
    [
      'begins a line for each column of a table',
      "create table cpu (host string, usage_user double default 0, ts timestamp time index, primary key (host)) with ('ttl'='7d')",
      "CREATE TABLE cpu (\n  host string,\n  usage_user double DEFAULT 0,\n  ts timestamp TIME INDEX,\n  PRIMARY KEY (host)\n) WITH ('ttl' = '7d');",
    ],
    [
      'keeps texts, quoted names and numbers',
      `select 'A  from' , "From", 1e3, x'AB'`,
      `SELECT 'A  from', "From", 1e3, x'AB';`,
    ],
    [
      'keeps names that are also words of functions',
      'select left(a,2),range,fill from t',
      'SELECT left(a, 2), range, fill FROM t;',
    ],
    [
      'keeps signs and operators apart',
      "select - -1, a- -b, a->>'x', -x, 2*-3",
      "SELECT - -1, a - -b, a ->> 'x', -x, 2 * -3;",
    ],
    [
      'keeps stars, casts and slices',
      'select *,t.*,count( * ),a::int,l[1:2] from t',
      'SELECT *, t.*, count(*), a::int, l[1:2] FROM t;',
    ],
    [
      'keeps comments where they were',
      '-- top\nselect a, -- first\n  /* second */ b\n-- own line\nfrom t /* end */ -- last',
      '-- top\nSELECT\n  a, -- first\n  /* second */ b\n-- own line\nFROM t /* end */ -- last\n;',
    ],
    ['keeps comments between statements', 'select 1; -- one\n; /* two */ select 2; -- three', undefined],
    ['keeps TQL as it is', "tql eval (0,10,'5s')  sum(  up )", "tql eval (0,10,'5s')  sum(  up );"],
  ] as const) {
    it(name, () => {
      const actual = formatSql(source);
      if (formatted !== undefined) expect(actual).to.equal(formatted);
      for (const comment of source.match(/-- \w+|\/\*.*?\*\//g) ?? []) expect(actual).to.contain(comment);
      checkSame(source);
    });
  }

  it('changes only spaces and the case of keywords in the statements of the documentation', () => {
    const statements = documentedStatements();
    expect(statements.length).to.be.greaterThan(30);
    for (const statement of statements) checkSame(statement);
  });

  it('does so for any sequence of tokens', () => {
    const token = fc.constantFrom(
      ...'select from where group by order ( ) [ ] { } , . ; :: : + - * / -> @@ = ~ a "b c" `d` \'e ; -- f\' 1 2.5 .5 $1 and or'.split(
        ' ',
      ),
      ...['between', 'case', 'join', 'left', 'values', "e'\\''", '-- g\n', '/* h */', '/* i\n*/', '\n', ' '],
    );
    const space = fc.constantFrom(' ', ' ', '\n', '');
    const text = fc.array(fc.tuple(token, space), { maxLength: 60 }).map((all) => all.flat().join(''));
    fc.assert(
      fc.property(text, (source) => {
        try {
          lexSql(source);
        } catch {
          return;
        }
        checkSame(source);
        expect(commentsOf(formatSql(source))).to.equal(commentsOf(source));
      }),
      { numRuns: 5_000 },
    );
  });

  it('lays out deep and long texts in linear time', () => {
    for (const source of [
      `select ${'('.repeat(250)}1${')'.repeat(250)}`,
      `select ${Array.from({ length: 20_000 }, (_, i) => `column_${i}`).join(',')} from t`,
      `select ${'(a or '.repeat(250)}b${')'.repeat(250)}`,
      `select '${'x'.repeat(200_000)}'`,
    ]) {
      checkSame(source);
    }
  });
});
