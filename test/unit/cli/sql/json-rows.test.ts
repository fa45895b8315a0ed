import { expect } from 'chai';

import { expandRow, rowTexts } from '#services/cli/sql/json-rows';

describe('rowTexts', () => {
  it('gives each row as it stands, with all digits', () => {
    const rows = ['{"ts":1700000000123456789,"a":"}],\\"{"}', '{"ts":2,"a":[{"b":1}]}'];
    expect(rowTexts(`{"data":[${rows.join(',')}],"execution_time_ms":4}`)).to.deep.equal(rows);
    expect(rowTexts('{"data":[],"execution_time_ms":4}')).to.deep.equal([]);
    expect(rowTexts('')).to.deep.equal([]);
  });
});

describe('expandRow', () => {
  it('writes one line for each column, integers with all digits', () => {
    expect(expandRow('{"ts":1700000000123456789,"host":"a 12345678901234567890","cpu":null,"ok":true}', 3)).to.equal(
      '-[ row 3 ]-\nts   | 1700000000123456789\nhost | a 12345678901234567890\ncpu  | \nok   | true\n',
    );
  });
});
