import { expect } from 'chai';

import { isBlankRow, previewCsv, readCsv } from '#services/gateway/dashboard/app/screens/ingest/csv/csv-reader';

async function allRows(file: Blob, newline: '\n' | '\r\n' = '\n'): Promise<(readonly string[])[]> {
  const all: (readonly string[])[] = [];
  for await (const { rows } of readCsv(file, { delimiter: ',', newline, encoding: 'utf-8' })) all.push(...rows);
  return all.filter((row) => !isBlankRow(row));
}

describe('CSV files', () => {
  it('are read in chunks, without cutting characters, quoted values or rows', async () => {
    const value = 'é"\n,😀'.repeat(3);
    const count = 60_000;
    const line = (i: number): string => `${i},"${value.replaceAll('"', '""')}"\n`;
    const file = new Blob([Array.from({ length: count }, (_, i) => line(i)).join('')]);
    expect(file.size).to.be.greaterThan(2 * 1024 * 1024);
    const rows = await allRows(file);
    expect(rows).to.have.length(count);
    rows.forEach((row, i) => {
      if (row[0] !== String(i) || row[1] !== value) throw new Error(`row ${i} is ${JSON.stringify(row)}`);
    });
  });

  it('may end without a line end, begin with a byte order mark, and have blank lines', async () => {
    expect(await allRows(new Blob(['\ufeffa,b\r\n\r\n1,2\r\n3,']), '\r\n')).to.deep.equal([
      ['a', 'b'],
      ['1', '2'],
      ['3', ''],
    ]);
    expect(await allRows(new Blob([]))).to.deep.equal([]);
  });

  it('are refused when a quotation mark is never closed', async () => {
    const file = new Blob(['a,"', 'x\n'.repeat(9 * 1024 * 1024)]);
    const outcome = await allRows(file).catch((error: unknown) => error);
    expect(outcome).to.be.instanceOf(RangeError);
  });

  it('say what separates their values', async () => {
    const preview = await previewCsv(new Blob(['a;b\r\n1;2,5\r\n3;4\r\n']), 'utf-8', '', 2);
    expect(preview).to.deep.equal({
      rows: [
        ['a', 'b'],
        ['1', '2,5'],
      ],
      encoding: 'utf-8',
      delimiter: ';',
      newline: '\r\n',
    });
    const latin = await previewCsv(new Blob([Uint8Array.of(0x61, 0x2c, 0xe9)]), 'windows-1252', ',', 10);
    expect(latin.rows).to.deep.equal([['a', 'é']]);
  });
});
