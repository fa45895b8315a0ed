import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { expect } from 'chai';

import { fromDuckDb } from '#shared/duckdb/errors';
import { QueryConnection } from '#shared/duckdb/query-connection';
import { streamRows } from '#shared/duckdb/stream';
import { AlmanacError } from '#shared/errors/almanac-error';

describe('streamRows', () => {
  let instance: DuckDBInstance;
  let connection: DuckDBConnection;
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'almanac-stream-'));
    instance = await DuckDBInstance.create(':memory:', { threads: '2' });
    connection = await instance.connect();
  });
  afterEach(() => {
    connection.closeSync();
    instance.closeSync();
    rmSync(folder, { recursive: true });
  });

  const consume = async (
    sql: string,
    signal = new AbortController().signal,
    onRows: (count: number) => void = () => undefined,
  ): Promise<number> => {
    let count = 0;
    for await (const { rowCount } of streamRows(connection, { sql, columnCount: 1, signal })) {
      count += rowCount;
      onRows(count);
    }
    return count;
  };
  const failure = (work: Promise<unknown>): Promise<AlmanacError> =>
    work.then(
      () => new AlmanacError('illegal_state', 'no error'),
      (error: unknown) => AlmanacError.from(error),
    );

  it('returns all rows in order, and no more', async () => {
    for (const rows of [0, 1, 2047, 2048, 2049, 4096, 300_000]) {
      const seen: bigint[] = [];
      for await (const { chunk, rowCount } of streamRows(connection, {
        sql: `SELECT range FROM range(${rows})`,
        columnCount: 1,
        signal: new AbortController().signal,
      })) {
        seen.push(...(chunk.getColumnValues(0) as bigint[]).slice(0, rowCount));
      }
      expect(seen.length).to.equal(rows);
      expect(seen.every((value, i) => value === BigInt(i))).to.equal(true);
    }
  });
  it('reports a failed cast in a late row', async () => {
    const error = await failure(
      consume(`SELECT CASE WHEN range = 2900000 THEN CAST('x' || range AS INTEGER) ELSE 1 END FROM range(3000000)`),
    );
    expect(error.code).to.equal('execute_query');
    expect(error.message).to.contain("Could not convert string 'x2900000' to INT32");
  });
  it('fails when the signal aborts, with its reason', async () => {
    const controller = new AbortController();
    const reason = new AlmanacError('deadline_exceeded', 'late');
    const error = await failure(
      consume('SELECT range FROM range(100000000)', controller.signal, () => controller.abort(reason)),
    );
    expect(error).to.equal(reason);
    expect(await consume('SELECT 1')).to.equal(1);
  });
  it('ends a query that the engine had not begun when the signal aborted', async () => {
    for (const turns of [0, 1, 2, 5]) {
      const abort = new AbortController();
      const run = failure(
        new QueryConnection(connection).run('SELECT sum(range) FROM range(1000000000000)', abort.signal),
      );
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      abort.abort();
      expect((await run).code).to.equal('cancelled');
    }
  });
  it('reports an interrupt by another caller', async () => {
    let isFirst = true;
    const error = await failure(
      consume('SELECT sum(range) OVER (ORDER BY range) FROM range(3000000)', undefined, () => {
        if (isFirst) connection.interrupt();
        isFirst = false;
      }).then((count) => {
        if (count < 3_000_000) throw new AlmanacError('internal', 'short');
      }),
    );
    // The interrupt may come after the last row was made; a short result without an error must not be.
    expect(error.message).to.not.equal('short');
  });
  it('reports a file that is truncated while it is read', async () => {
    const file = join(folder, 'x.parquet');
    await connection.run(
      `COPY (SELECT range AS a, md5(range::VARCHAR) AS b FROM range(2000000)) TO '${file}' (ROW_GROUP_SIZE 20000)`,
    );
    const error = await failure(
      consume(`SELECT b FROM read_parquet('${file}')`, undefined, (count) => {
        if (count < 5000) truncateSync(file, 1000);
      }),
    );
    expect(error.code, error.message).to.be.oneOf(['storage_unavailable', 'execute_query', 'internal']);
    expect(error.publicMessage).to.not.contain(folder);
  });
});

describe('fromDuckDb', () => {
  const turns = (message: string, code: string, text: string): void => {
    it(`translates "${message.slice(0, 50).replaceAll('\n', ' ')}" to ${code}`, () => {
      const error = fromDuckDb(new Error(message));
      expect([error.code, error.message]).to.deep.equal([code, text]);
    });
  };
  turns(
    'Binder Error: Referenced column "nope" not found in FROM clause!\nCandidate bindings: "a"\n\nLINE 1: SELECT nope FROM __t0',
    'plan_query',
    'Failed to plan SQL: No field named nope.',
  );
  turns(
    'Binder Error: Referenced table "x" not found!\nCandidate tables: "__t0"',
    'plan_query',
    'Failed to plan SQL: No table or alias named x.',
  );
  turns(
    'Catalog Error: Scalar Function with name nofunc does not exist!\nDid you mean "count"?',
    'plan_query',
    "Failed to plan SQL: Invalid function 'nofunc'.",
  );
  turns(
    'Parser Error: syntax error at or near "x"\n\nLINE 1: x',
    'invalid_syntax',
    'Invalid SQL syntax: sql parser error: syntax error at or near "x"',
  );
  turns(
    "Conversion Error: Could not convert string 'a' to INT32\n\nLINE 1: ..",
    'execute_query',
    "Could not convert string 'a' to INT32",
  );
  turns('INTERRUPT Error: Interrupted!', 'cancelled', 'query was cancelled');
  turns(
    'Out of Memory Error: failed to allocate data of size 1.0 GiB (/data/x)',
    'resources_exhausted',
    'query needs more memory than it may use: read a shorter time range, or raise memory.limit',
  );
  turns(
    'IO Error: Cannot open file "/data/store/1/2/x.parquet": No such file',
    'storage_unavailable',
    'stored data cannot be read',
  );
  turns('Invalid Input Error: File "/data/store/x/y.parquet" too small', 'execute_query', 'File "<path>" too small');
  it('treats anything but an exception of the engine as a bug', () => {
    expect(fromDuckDb(new TypeError('x is not a function')).code).to.equal('internal');
  });
});
