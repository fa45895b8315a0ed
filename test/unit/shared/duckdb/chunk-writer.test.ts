import { DuckDBBlobValue, DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'chai';
import fc from 'fast-check';

import { CHUNK_ROWS, ChunkWriter, type ChunkColumn } from '#shared/duckdb/chunk-writer';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { BytesColumn } from '#shared/rowbatch/column';
import { textColumn } from '#shared/rowbatch/text-column';
import { failure } from '#test/support/failure';

type Cell = Uint8Array | undefined;

function columnOf(cells: readonly Cell[], type: string): ChunkColumn {
  const column: BytesColumn | undefined = textColumn({ id: 0, type }, cells);
  return column === undefined ? { kind: 'null' } : { kind: 'column', column };
}

async function written(columns: readonly ChunkColumn[], rowCount: number): Promise<readonly (readonly unknown[])[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run('CREATE TABLE t (text VARCHAR, bytes BLOB, called VARCHAR)');
  const writer = await ChunkWriter.open(connection, 't');
  for (let from = 0; from < rowCount; from += CHUNK_ROWS) {
    writer.append(columns, from, Math.min(rowCount, from + CHUNK_ROWS));
  }
  writer.close();
  const rows = (await connection.runAndReadAll('SELECT * FROM t')).getRows();
  connection.closeSync();
  instance.closeSync();
  return rows.map((row) => row.map((cell) => (cell instanceof DuckDBBlobValue ? Buffer.from(cell.bytes) : cell)));
}

describe('ChunkWriter', () => {
  it('fills a table, or leaves it as it was if filling fails', async () => {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    await connection.run('CREATE TABLE t (text VARCHAR)');
    const columns = [columnOf([new Uint8Array(Buffer.from('a'))], 'String')];
    const filled = ChunkWriter.fill(connection, 't', (writer) => {
      writer.append(columns, 0, 1);
      return Promise.reject(new AlmanacError('internal', 'no more rows'));
    });
    expect((await failure(filled)).message).to.equal('no more rows');
    const count = async (): Promise<unknown> => {
      return (await connection.runAndReadAll('SELECT count(*)::INT FROM t')).getRows()[0][0];
    };
    expect(await count()).to.equal(0);
    await ChunkWriter.fill(connection, 't', (writer) => Promise.resolve(writer.append(columns, 0, 1)));
    expect(await count()).to.equal(1);
    connection.closeSync();
    instance.closeSync();
  });

  it('stores texts and bytes of any length, and nulls, in any order', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 40 }),
      fc.constantFrom('', 'twelve bytes', 'x'.repeat(13)),
    );
    const cells = fc.array(
      fc.tuple(fc.option(text, { nil: undefined }), fc.option(fc.uint8Array({ maxLength: 40 }), { nil: undefined })),
      { minLength: 1, maxLength: 50 },
    );
    await fc.assert(
      fc.asyncProperty(cells, fc.integer({ min: 1, max: 60 }), async (some, repeats) => {
        const all = Array.from({ length: repeats }, () => some).flat();
        const texts = all.map(([it]) => (it === undefined ? undefined : new Uint8Array(Buffer.from(it))));
        const columns: ChunkColumn[] = [
          columnOf(texts, 'String'),
          columnOf(
            all.map(([, it]) => it),
            'Binary',
          ),
          {
            kind: 'texts',
            isBinary: false,
            addTo: (block, from, to) => {
              for (const one of texts.slice(from, to)) {
                if (one === undefined) block.addNull();
                else block.add(one, 0, one.length);
              }
            },
          },
        ];
        const expected = all.map(([it, bytes]) => [
          it ?? null,
          bytes === undefined ? null : Buffer.from(bytes),
          it ?? null,
        ]);
        expect(await written(columns, all.length)).to.deep.equal(expected);
      }),
      { numRuns: 30 },
    );
  });

  it('loses only the text that is not UTF-8', async () => {
    const good = new Uint8Array(Buffer.from('a text of more than twelve bytes'));
    const bad = new Uint8Array(Buffer.from([0xff, ...good]));
    const columns = [columnOf([good, bad, good], 'String'), { kind: 'null' }, { kind: 'null' }] as const;
    const text = Buffer.from(good).toString();
    expect((await written(columns, 3)).map(([cell]) => cell)).to.deep.equal([text, null, text]);
  });
});
