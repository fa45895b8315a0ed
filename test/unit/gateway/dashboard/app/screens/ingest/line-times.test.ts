import { expect } from 'chai';

import { doubtfulTimes, tableOfLine } from '#services/gateway/dashboard/app/screens/ingest/line-times';

describe('times of lines', () => {
  it('are doubtful if only another unit makes them likely', () => {
    for (const [lines, unit, expected] of [
      ['m v=1 1795000000', 'ns', 's'],
      ['# 5\n\nm v=1\nm v=1 1795000000000\r\n', 'ns', 'ms'],
      ['m v=1 1795000000000000 ', 's', 'us'],
      ['m v=1 1795000000000000000', 'ms', 'ns'],
    ] as const) {
      expect(doubtfulTimes(lines, unit)?.unit, lines).to.equal(expected);
    }
    expect(doubtfulTimes('m v=1 1795000000', 'ns')).to.deep.equal({ unit: 's', chosenYear: '1970', year: '2026' });
  });

  it('are likely, or likely in no unit', () => {
    for (const lines of [
      '',
      'm v=1',
      'm v="a 1795000000"',
      'm v=1 17',
      'm v=1 -1795000000',
      'm v=1 1795000000000000000',
    ]) {
      expect(doubtfulTimes(lines, 'ns'), lines).to.equal(undefined);
    }
  });

  it('belong to the table before the first comma or space', () => {
    for (const [line, table] of [
      ['cpu,host=a v=1', 'cpu'],
      [' cpu v=1', 'cpu'],
      ['my\\ table\\,x\\=\\"y\\n,host=a v=1', 'my table,x="y\\n'],
      ['cpu', 'cpu'],
    ]) {
      expect(tableOfLine(line), line).to.equal(table);
    }
  });
});
