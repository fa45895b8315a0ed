import { expect } from 'chai';

import { SeededRandom } from '#test/bench/tsbs/seeded-random';

import { lift } from '../../../../../services/querier/sql/plan/lift-literals.js';
import { literalsIn, QueryTemplates, templateOf } from '../../../../../services/querier/sql/plan/query-template.js';
import { lexSql } from '../../../../../services/querier/sql/syntax/lex.js';
import { splitStatements } from '../../../../../services/querier/sql/syntax/split.js';

type Lifted = ReturnType<typeof lift>;

/** Lifts the literals of the only query of a text; undefined if it has none or several, or is not SQL. */
function lifted(text: string): Lifted | undefined {
  try {
    const statements = splitStatements(lexSql(text));
    return statements.length === 1
      ? lift(statements[0].tokens, statements[0].from, statements[0].to, false)
      : undefined;
  } catch {
    return undefined;
  }
}

function template(text: string): ReturnType<typeof templateOf> {
  const [{ tokens, from, to }] = splitStatements(lexSql(text));
  return templateOf({ tokens, from, to }, lift(tokens, from, to, false));
}

describe('templates of queries', () => {
  const text = "SELECT max(v) FROM t WHERE h = 'a' AND v > -1.5 AND n IN (1, 20) LIMIT 3;";

  it('finds the literals of texts that differ in nothing else', () => {
    const found = template(text);
    expect(
      found && literalsIn("SELECT max(v) FROM t WHERE h = 'ä;--' AND v > -0.25 AND n IN (7, 0) LIMIT 99;", found),
    ).to.deep.equal([
      { kind: 'text', value: 'ä;--' },
      { kind: 'decimal', value: '-0.25' },
      { kind: 'integer', value: '7' },
      { kind: 'integer', value: '0' },
      { kind: 'integer', value: '99' },
    ]);
  });

  for (const [what, other] of [
    [
      'the end of another statement',
      "SELECT max(v) FROM t WHERE h = 'a' AND v > -1.5 AND n IN (1, 20) LIMIT 3; DROP TABLE t",
    ],
    ['a quote in a text', "SELECT max(v) FROM t WHERE h = 'a''b' AND v > -1.5 AND n IN (1, 20) LIMIT 3;"],
    ['a literal of another kind', "SELECT max(v) FROM t WHERE h = 'a' AND v > -1 AND n IN (1, 20) LIMIT 3;"],
    ['no sign', "SELECT max(v) FROM t WHERE h = 'a' AND v > 1.5 AND n IN (1, 20) LIMIT 3;"],
    ['an exponent', "SELECT max(v) FROM t WHERE h = 'a' AND v > -1.5e3 AND n IN (1, 20) LIMIT 3;"],
    ['hexadecimal digits', "SELECT max(v) FROM t WHERE h = 'a' AND v > -1.5 AND n IN (0x1F, 20) LIMIT 3;"],
    ['a longer list', "SELECT max(v) FROM t WHERE h = 'a' AND v > -1.5 AND n IN (1, 20, 3) LIMIT 3;"],
    ['an unclosed text', "SELECT max(v) FROM t WHERE h = 'a AND v > -1.5 AND n IN (1, 20) LIMIT 3;"],
    ['an integer beyond Int64', text.replace('20', '9223372036854775808')],
    ['a count beyond what the engine takes', text.replace('3;', '9223372036854775807;')],
    ['less', "SELECT max(v) FROM t WHERE h = 'a'"],
    ['nothing', ''],
  ]) {
    it(`does not take a text with ${what}`, () => {
      const found = template(text);
      expect(found && literalsIn(other, found)).to.equal(undefined);
    });
  }

  it('is not made of texts with several statements, of literals in items, and of those that name their place', () => {
    for (const other of [
      'SELECT v FROM t WHERE v > 1; SELECT 2',
      'SELECT v, 1 FROM t',
      'FROM t SELECT max(v) * 2 WHERE v > 1',
      'SELECT v FROM t LIMIT 1, 2',
      "SELECT v FROM t WHERE h = E'a'",
      'SELECT v FROM t WHERE v > 1_000',
      'SELECT v FROM t WHERE v > .5',
      `SELECT v FROM t WHERE h = '${'x'.repeat(5_000)}'`,
    ]) {
      expect(template(other), other).to.equal(undefined);
    }
  });

  it('gives the literals, and the shape, that the whole text has', () => {
    const random = new SeededRandom(7);
    const texts = [
      'SELECT h, avg(v) FROM t WHERE h = $ AND ts >= $ AND ts<$ GROUP BY h HAVING avg(v) > -$ ORDER BY 1 LIMIT $ OFFSET $',
      "/* ' */ SELECT date_trunc('hour', ts) AS k, max(v) FROM \"a ' b\" WHERE h IN ($,$,$)-- $'\n GROUP BY k",
      'SELECT * FROM t WHERE a = $ AND b BETWEEN $ AND $ AND NOT (c = - $ OR c=$) ;',
      "SELECT x FROM t WHERE ts > now() - INTERVAL '1 hour' AND y = $ AND f($, 2) = $::INT AND a[$] = 1",
    ];
    const values = [
      "'a'",
      "'b''c'",
      "''",
      "'-- '",
      "'\n'",
      '1',
      '0',
      '00',
      '12345678901234567890',
      '1.5',
      '1.',
      '.5',
      '1e3',
      '1.5E-3',
      '0x1F',
      '1_0',
      "E'a'",
      "X'00'",
      '"a"',
      'null',
      '1a',
      '$1',
      '-1',
      "'",
    ];
    let matched = 0;
    for (const gapped of texts) {
      const fillIn = (): string => gapped.replaceAll('$', () => random.pick(values));
      for (let i = 0; i < 300; i++) {
        const base = gapped.replaceAll('$', () => random.pick(["'a'", '1', '1.5']));
        const found = template(base);
        if (found === undefined) continue;
        for (const other of [base, fillIn(), gapped.replaceAll('$', () => random.pick(["'b'", '22', '0.25']))]) {
          const literals = literalsIn(other, found);
          if (literals === undefined) continue;
          matched++;
          expect(lifted(other)?.literals, other).to.deep.equal(literals);
          expect(lifted(other)?.sql, other).to.equal(lifted(base)?.sql);
        }
      }
    }
    expect(matched).to.be.greaterThan(1_000);
  });

  it('does not compare long texts', () => {
    const templates = new QueryTemplates<number>();
    const found = template("SELECT v FROM t WHERE h = 'a'");
    if (found !== undefined) templates.add(found, 1);
    expect(templates.find(`SELECT v FROM t WHERE h = '${'a'.repeat(4_000)}'`, () => true)?.value).to.equal(1);
    expect(templates.find(`SELECT v FROM t WHERE h = '${'a'.repeat(5_000)}'`, () => true)).to.equal(undefined);
  });

  it('keeps the latest 64', () => {
    const templates = new QueryTemplates<number>();
    const textOf = (i: number): string => `SELECT v${i} FROM t WHERE v = 1`;
    for (let i = 0; i < 70; i++) {
      const found = template(textOf(i));
      if (found !== undefined) templates.add(found, i);
      expect(templates.find(textOf(0), () => true)?.value).to.equal(0);
    }
    const known = Array.from({ length: 70 }, (_, i) => templates.find(textOf(i), () => true)?.value !== undefined);
    expect(known.filter(Boolean).length).to.equal(64);
    expect(known[69] && known[0] && !known[1]).to.equal(true);
    expect(templates.find(textOf(69), (value) => value !== 69)).to.equal(undefined);
  });
});
