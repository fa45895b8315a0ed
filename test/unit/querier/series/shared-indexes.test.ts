import { expect } from 'chai';

import { IndexesFull } from '#services/querier/series/memory/index-memory';
import type { IndexReader, SharedIndex, SharedIndexes } from '#services/querier/series/shared-indexes';
import { systemClock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';
import { openEngine, type DuckDBConnection, type DuckDBInstance } from '#shared/duckdb/engine';
import { encodeDefinitions, encodeTags } from '#shared/rowbatch/definitions';
import { seriesIndexes } from '#test/support/series-indexes';

const MEMORY_BYTES = 4 * 1024 * 1024;
/** Series that take some 3 MiB, most of the memory; twice as many do not fit. */
const MANY = 15_000;
/** Series that take a quarter of the memory and a little more. */
const SOME = 6000;
const POD_TAG_ID = 1;

function tableOf(tableId: number): Table {
  const rest = { nullable: true, defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] };
  const columns = [{ id: POD_TAG_ID, name: 'pod', type: 'String', kind: 'tag', ...rest }];
  const ids = { databaseId: 1, database: 'public', name: `t${tableId}`, schemaVersion: 1, createdMs: 0 };
  return { ...ids, tableId, columns, options: {}, regions: [], primaryKey: [], ttl: '' };
}

/** Returns the definitions of the series `[from, to)`, as an owner sends them. */
function definitions(from: number, to: number): ScanPart {
  const list = Array.from({ length: to - from }, (_, i) => {
    const value = Buffer.from(`pod-${from + i}-${'x'.repeat(100)}`);
    return { tsid: BigInt(from + i), tags: encodeTags([{ columnId: POD_TAG_ID, value }]) };
  });
  return { seriesFrom: from, seriesTo: to, definitions: encodeDefinitions(list) } as ScanPart;
}

/** A reader as a table has it. */
class Reader implements IndexReader {
  isReading = true;
  isDiscarded = false;
  readMs = 0;
  readonly shared: SharedIndex;

  constructor(shared: SharedIndex) {
    this.shared = shared;
    shared.readBy(this);
  }

  lastReadMs(): number {
    return this.readMs;
  }

  isIdle(): boolean {
    return !this.isReading;
  }

  discard(): void {
    this.isDiscarded = true;
    this.shared.close();
  }
}

describe('SharedIndexes', () => {
  let engine: DuckDBInstance;
  let connection: DuckDBConnection;
  let indexes: SharedIndexes;

  before(async () => {
    engine = await openEngine({ threads: 1, memoryBytes: 64 * 1024 * 1024, spillFolder: '' });
    connection = await engine.connect();
  });

  after(() => {
    connection.closeSync();
    engine.closeSync();
  });

  beforeEach(() => {
    indexes = seriesIndexes({
      connection,
      files: { absolute: (path) => path },
      clock: systemClock,
      schemaOf: tableOf,
      memoryBytes: MEMORY_BYTES,
    });
  });

  function open(regionId: number): Reader {
    const reader = new Reader(indexes.open(regionId, tableOf(regionId)));
    reader.shared.share('owner');
    return reader;
  }

  async function refused(work: Promise<unknown>): Promise<boolean> {
    return work.then(
      () => false,
      (error: unknown) => {
        if (error instanceof IndexesFull) return true;
        throw error;
      },
    );
  }

  it('count the memory of their values, series and sorted series', async () => {
    const { shared } = open(1);
    await shared.append(definitions(0, MANY));
    const before = indexes.bytes;
    expect(before).to.be.within(MANY * 150, MANY * 230);
    const { index } = shared;
    const label = index.labelOfTag(POD_TAG_ID);
    if (label === undefined) return expect.fail('no series has the tag');
    await index.indexed(label, MANY, new Slices(systemClock));
    expect(indexes.bytes - before).to.be.within(8 * MANY, 9 * MANY);
    shared.close();
    expect(indexes.bytes).to.equal(0);
  });

  it('refuse series for which there is no memory, and have those that fit', async () => {
    const { shared } = open(1);
    expect(await refused(shared.append(definitions(0, 2 * MANY)))).to.equal(true);
    expect(indexes.bytes).to.be.within(MEMORY_BYTES * 0.9, MEMORY_BYTES * 1.1);
    const { index } = shared;
    expect(index.count).to.be.within(MANY, 2 * MANY);
    const pod = index.labelOfTag(POD_TAG_ID);
    expect(pod?.values[index.valueOf(MANY - 1, pod.position)]).to.contain(`pod-${MANY - 1}-`);
    shared.close();
    expect(indexes.bytes).to.equal(0);
  });

  it('refuse a sort of series for which there is no memory, and keep the index', async () => {
    const { shared } = open(1);
    let count = 0;
    while (!(await refused(shared.append(definitions(count, count + 100))))) count += 100;
    const { index } = shared;
    const label = index.labelOfTag(POD_TAG_ID);
    if (label === undefined) return expect.fail('no series has the tag');
    const indexed = async (): Promise<unknown> => index.indexed(label, count, new Slices(systemClock));
    expect(await refused(indexed())).to.equal(true);
    expect(label.numberOf(label.values[count - 1])).to.equal(count - 1);
  });

  it('begin without an attempt to refuse a region again, until another index is closed', async () => {
    const other = open(1);
    await other.shared.append(definitions(0, MANY));
    const first = open(2);
    expect(await refused(first.shared.append(definitions(0, MANY)))).to.equal(true);
    first.shared.close();
    const second = open(2);
    expect(second.shared.hasRoom).to.equal(false);
    expect(await refused(second.shared.append(definitions(0, MANY)))).to.equal(true);
    expect(second.shared.index.count).to.equal(0);
    other.shared.close();
    expect(second.shared.hasRoom).to.equal(true);
    await second.shared.append(definitions(0, MANY));
    expect(second.shared.index.count).to.equal(MANY);
    expect(other.isDiscarded).to.equal(false);
  });

  it('discard the indexes that no query reads, the least recently read first', async () => {
    const readers: Reader[] = [];
    for (const [i, readMs] of [20, 10, 30].entries()) {
      const reader = open(i + 1);
      reader.readMs = readMs;
      await reader.shared.append(definitions(0, SOME));
      reader.isReading = false;
      readers.push(reader);
    }
    const large = open(4);
    await large.shared.append(definitions(0, SOME));
    expect(readers.map(({ isDiscarded }) => isDiscarded)).to.deep.equal([false, true, false]);
    readers[0].isReading = true;
    await large.shared.append(definitions(SOME, 2 * SOME));
    expect(readers.map(({ isDiscarded }) => isDiscarded)).to.deep.equal([false, true, true]);
    expect(await refused(large.shared.append(definitions(2 * SOME, 2 * MANY)))).to.equal(true);
    expect(readers[0].isDiscarded).to.equal(false);
    readers[0].isReading = false;
    expect(large.shared.hasRoom).to.equal(true);
  });

  it('discard an index only if none of its readers reads it', async () => {
    const one = open(1);
    const other = open(1);
    await one.shared.append(definitions(0, MANY));
    expect(other.shared.index.count).to.equal(MANY);
    one.isReading = false;
    const second = open(2);
    expect(await refused(second.shared.append(definitions(0, MANY)))).to.equal(true);
    expect([one.isDiscarded, other.isDiscarded]).to.deep.equal([false, false]);
    other.isReading = false;
    expect(second.shared.hasRoom).to.equal(true);
    await second.shared.append(definitions(second.shared.index.count, MANY));
    expect([one.isDiscarded, other.isDiscarded]).to.deep.equal([true, true]);
  });
});
