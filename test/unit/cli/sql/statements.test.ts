import { expect } from 'chai';

import { splitInput, usedDatabase } from '#services/cli/sql/statements';

describe('splitStatements', () => {
  it('splits at semicolons and returns the rest separately', () => {
    expect(splitInput('SELECT 1; SELECT 2;\n SELECT')).to.deep.equal({
      statements: ['SELECT 1', 'SELECT 2'],
      rest: 'SELECT',
    });
    expect(splitInput(' ;; ')).to.deep.equal({ statements: [], rest: '' });
  });

  it('does not split in quotes and comments', () => {
    const text = `SELECT 'a;''b', "c;d", \`e;f\` -- g;h\n, /* i;j */ 1`;
    expect(splitInput(`${text};`)).to.deep.equal({ statements: [text], rest: '' });
    expect(splitInput("SELECT 'open;").rest).to.equal("SELECT 'open;");
  });

  it('drops what is only a comment', () => {
    expect(splitInput('-- first\n; /* second */ ; SELECT 1; -- third')).to.deep.equal({
      statements: ['SELECT 1'],
      rest: '',
    });
  });
});

describe('usedDatabase', () => {
  it('reads plain and quoted names', () => {
    expect(usedDatabase('USE metrics')).to.equal('metrics');
    expect(usedDatabase('use "my ""db"""')).to.equal('my "db"');
    expect(usedDatabase('USE `my db`')).to.equal('my db');
    expect(usedDatabase('SELECT 1')).to.equal(undefined);
  });
});
