import { expect } from 'chai';

import { FreshPart } from '#services/querier/snapshot/fresh-part';
import type { Column as SchemaColumn, Table } from '#shared/contracts/gen/common';
import type { ScanBatch } from '#shared/contracts/gen/ingester';
import { openEngine, type DuckDBConnection, type DuckDBInstance } from '#shared/duckdb/engine';
import { firstRow } from '#shared/duckdb/read';
import type { Column } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { failureCode } from '#test/support/failure';

const VALUE_ID = 2;
const TEXT_ID = 3;
/** Rows of a batch: no multiple of a chunk, and less than the engine makes visible at once. */
const ROWS = 20_001;
/** Batches that take half of the memory of the engine. */
const BATCHES = 16;
const MEMORY_BYTES = 24 * 1024 * 1024;
const BATCH_MEMORY_BYTES = 1 << 30;

function tableOf(): Table {
  const column = (id: number, name: string, type: string, kind: string): SchemaColumn => {
    const rest = { nullable: true, defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] };
    return { id, name, type, kind, ...rest };
  };
  const columns = [
    column(1, 'time', 'TimestampMillisecond', 'time'),
    column(VALUE_ID, 'v', 'Int64', 'field'),
    column(TEXT_ID, 's', 'String', 'field'),
  ];
  const ids = { tableId: 1, databaseId: 1, database: 'public', name: 't', schemaVersion: 1, createdMs: 0 };
  return { ...ids, columns, options: {}, regions: [], primaryKey: [], ttl: '' };
}

/** The batch at a position of a part: value and time of each row are its number in the part. */
function batchAt(at: number, hasTexts = false): { readonly scanned: ScanBatch; readonly batch: RowBatch } {
  const numbers = BigInt64Array.from({ length: ROWS }, (_, row) => BigInt(at * ROWS + row));
  const base = { nullCount: 0, validity: undefined };
  const columns: Column[] = [{ ...base, kind: 'fixed', columnId: VALUE_ID, type: 'Int64', values: numbers }];
  if (hasTexts) {
    const offsets = Int32Array.from({ length: ROWS + 1 }, (_, row) => row);
    const bytes = new Uint8Array(ROWS).fill(0x78);
    columns.push({ ...base, kind: 'bytes', columnId: TEXT_ID, type: 'String', offsets, bytes });
  }
  const rows = { rowCount: ROWS, tsids: BigUint64Array.of(7n), seriesIndex: new Uint32Array(ROWS), times: numbers };
  const scanned = {
    sequenceFrom: BigInt(at * ROWS),
    sequenceTo: BigInt((at + 1) * ROWS),
    batch: new Uint8Array(0),
    sids: [5],
    ...{ hasLate: false, lateFirst: 0n, lateLast: 0n, timeFirst: numbers[0], timeLast: numbers[ROWS - 1] },
    generation: 1,
  };
  return { scanned, batch: { ...rows, columns } };
}

describe('FreshPart', () => {
  let engine: DuckDBInstance;
  let connection: DuckDBConnection;
  let appending: DuckDBConnection;
  const pause = (): Promise<void> => Promise.resolve();

  beforeEach(async () => {
    // Without a folder the engine cannot move rows to the disk.
    engine = await openEngine({ threads: 1, memoryBytes: MEMORY_BYTES, spillFolder: '' });
    connection = await engine.connect();
    appending = await engine.connect();
  });

  afterEach(() => {
    connection.closeSync();
    appending.closeSync();
    engine.closeSync();
  });

  function partOf(bytesLeft = BATCH_MEMORY_BYTES): FreshPart {
    return new FreshPart('fresh_1_1', tableOf(), batchAt(0).scanned, {
      connection,
      appending,
      batchMemory: { bytesLeft },
    });
  }

  async function append(part: FreshPart, at: number, hasTexts = false): Promise<void> {
    const { scanned, batch } = batchAt(at, hasTexts);
    await part.append(scanned, batch, pause);
    part.flush();
  }

  /** Takes all memory of the engine but some 100 KiB, until the returned function is called. */
  async function takeMemory(): Promise<() => Promise<void>> {
    await connection.run('CREATE TABLE taken (v UBIGINT)');
    for (let rows = 1 << 20; rows >= 1 << 10;) {
      try {
        await connection.run(`INSERT INTO taken SELECT hash(random()) FROM range(${rows})`);
      } catch {
        rows >>= 1;
      }
    }
    return async () => {
      await connection.run('DROP TABLE taken');
    };
  }

  /** Returns count and sum of the values of the table, and the number of rows out of order. */
  async function stored({ relation }: FreshPart): Promise<number[]> {
    const sql = `SELECT count(*), coalesce(sum(f${VALUE_ID}), 0), count(*) FILTER (f${VALUE_ID} <> rowid) FROM ${relation}`;
    return (await firstRow(connection, sql)).map(Number);
  }

  function whole(batches: number): number[] {
    const count = batches * ROWS;
    return [count, (count * (count - 1)) / 2, 0];
  }

  it('keeps its rows as arrays after the engine had no memory for them, and fills the table at the next attempt', async () => {
    const part = partOf();
    for (let at = 0; at < BATCHES; at++) await append(part, at);
    const giveBack = await takeMemory();
    for (let i = 0; i < 2; i++) expect(await failureCode(part.fillTable(pause))).to.equal('resources_exhausted');
    expect(part.isOutdatedFor(tableOf())).to.equal(false);
    expect(part.batches).to.have.length(BATCHES);
    await append(part, BATCHES);
    await giveBack();
    await part.fillTable(pause);
    expect(await stored(part)).to.deep.equal(whole(BATCHES + 1));
    await part.drop();
  });

  it('keeps the rows that a query of the engine reads while the next fill fails', async () => {
    const part = partOf();
    await append(part, 0);
    await part.fillTable(pause);
    for (let at = 1; at < BATCHES; at++) await append(part, at);
    const giveBack = await takeMemory();
    expect(await failureCode(part.fillTable(pause))).to.equal('resources_exhausted');
    await giveBack();
    const [count, , outOfOrder] = await stored(part);
    expect(count)
      .to.be.at.least(ROWS)
      .and.below(BATCHES * ROWS);
    expect(outOfOrder).to.equal(0);
    await part.fillTable(pause);
    expect(await stored(part)).to.deep.equal(whole(BATCHES));
    await part.drop();
  });

  it('keeps its arrays when it becomes obsolete after a failed fill', async () => {
    const part = partOf();
    for (let at = 0; at < BATCHES; at++) await append(part, at);
    const giveBack = await takeMemory();
    expect(await failureCode(part.fillTable(pause))).to.equal('resources_exhausted');
    part.isObsolete = true;
    part.noteObsolete();
    expect(part.batches).to.have.length(BATCHES);
    await giveBack();
    await part.fillTable(pause);
    expect(await stored(part)).to.deep.equal(whole(BATCHES));
    expect(part.batches).to.equal(undefined);
    await part.drop();
  });

  it('must be read again after a write of rows failed that are not kept as arrays', async () => {
    const part = partOf(0);
    const giveBack = await takeMemory();
    const failures: string[] = [];
    for (let at = 0; at < 30 && failures.length === 0; at++) {
      const { scanned, batch } = batchAt(at);
      await part.append(scanned, batch, pause).catch((error: unknown) => {
        failures.push(error instanceof Error ? error.message : '');
      });
    }
    expect(failures).to.have.length(1);
    expect(part.isOutdatedFor(tableOf())).to.equal(true);
    await giveBack();
    expect(await failureCode(part.fillTable(pause))).to.equal('resources_exhausted');
    await part.drop();
  });

  it('continues with texts, which it has in the table only', async () => {
    const part = partOf();
    await append(part, 0, true);
    for (let at = 1; at < BATCHES; at++) await append(part, at);
    const giveBack = await takeMemory();
    expect(await failureCode(part.fillTable(pause))).to.equal('resources_exhausted');
    await giveBack();
    await append(part, BATCHES, true);
    expect(await stored(part)).to.deep.equal(whole(BATCHES + 1));
    const sql = `SELECT count(f${TEXT_ID}) FROM ${part.relation} WHERE f${TEXT_ID} = 'x'`;
    expect((await firstRow(connection, sql)).map(Number)).to.deep.equal([2 * ROWS]);
    await part.drop();
  });
});
