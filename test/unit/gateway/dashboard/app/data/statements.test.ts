import { expect } from 'chai';

import { firstWord, onlyReads, splitStatements } from '#services/gateway/dashboard/app/data/statements';

describe('statements in a text', () => {
  const texts = (text: string): string[] => splitStatements(text).map((statement) => statement.text);

  it('end at semicolons outside of strings, names and comments', () => {
    expect(texts('SELECT \'a;\'\'b\'; SELECT "c;""d" ;SELECT `e;``f`; -- ;\nSELECT 1 /* ; */')).to.deep.equal([
      "SELECT 'a;''b'",
      'SELECT "c;""d"',
      'SELECT `e;``f`',
      '-- ;\nSELECT 1 /* ; */',
    ]);
    expect(texts(`SELECT E'\\';', e'\\\\'; SELECT 2`)).to.deep.equal([`SELECT E'\\';', e'\\\\'`, 'SELECT 2']);
    expect(texts('/* /* ; */ ; */ SELECT 1; ; -- nothing')).to.deep.equal(['/* /* ; */ ; */ SELECT 1']);
    expect(texts("SELECT 'open; SELECT 2")).to.deep.equal(["SELECT 'open; SELECT 2"]);
    const [, second] = splitStatements('SELECT 1;\n  SELECT 2 ;');
    expect(second).to.deep.equal({ text: 'SELECT 2', from: 12, to: 20 });
  });

  it('only read if each begins with a word for that, after comments that nest as in the server', () => {
    for (const text of [
      'SELECT 1',
      ' /* a */ -- b\n with x AS (SELECT 1) SELECT 1; SHOW TABLES',
      'TQL EVAL (0, 1, 1) up',
    ]) {
      expect(onlyReads(text), text).to.equal(true);
    }
    for (const text of [
      '/* /* */ SELECT */ DROP TABLE t',
      'SELECT 1; DROP TABLE t',
      'selection',
      `SELECT E'\\''; DROP TABLE t; --'`,
    ]) {
      expect(onlyReads(text), text).to.equal(false);
    }
  });

  it('have their first word found in little time', () => {
    expect(firstWord('/**/'.repeat(20_000) + '(')).to.equal('');
    expect(firstWord('/**/'.repeat(20_000) + 'SELECT 1')).to.equal('select');
  });
});
