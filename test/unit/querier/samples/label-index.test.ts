import { join } from 'node:path';

import { expect } from 'chai';

import { LabelIndex } from '#services/querier/samples/label-index';
import { LabelsMemory } from '#services/querier/samples/labels-memory';
import { Slices } from '#shared/clock/slices';
import type { Table } from '#shared/contracts/gen/common';
import { openEngine, type DuckDBConnection } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import { SID_FIELD_ID } from '#shared/schema/segment-columns';
import { HurriedClock } from '#test/support/hurried-clock';
import { tempFolder } from '#test/support/temp-folder';

const TAGS = 1000;
const SERIES = 300;

function tableOf(): Table {
  const columns = Array.from({ length: TAGS }, (_, i) => {
    return {
      id: i + 1,
      name: `t${i}`,
      type: 'String',
      kind: 'tag',
      nullable: true,
      defaultSql: '',
      comment: '',
      backfillSql: '',
      formerTypes: [],
    };
  });
  const ids = { tableId: 1, databaseId: 1, database: 'public', name: 'wide', schemaVersion: 1, createdMs: 0 };
  return { ...ids, columns, options: {}, regions: [], primaryKey: [], ttl: '' };
}

describe('label index', () => {
  let cleanUp: () => void = () => undefined;
  let folder = '';
  let connection: DuckDBConnection;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    const engine = await openEngine({ threads: 1, memoryBytes: 512 * 1024 * 1024, spillFolder: folder });
    connection = await engine.connect();
  });

  after(() => {
    connection.closeSync();
    cleanUp();
  });

  it('serves others while it reads many series with many labels', async () => {
    const path = join(folder, 'series.parquet');
    const all = Array.from({ length: TAGS }, (_, i) => i);
    const cells = all.map((i) => (i === 0 ? `'job'` : `if(s % ${TAGS} = ${i}, 'v' || s, NULL)`) + ` AS t${i}`);
    const ids = [`sid: ${SID_FIELD_ID}`, ...all.map((i) => `t${i}: ${i + 1}`)];
    await connection.run(
      `COPY (SELECT s::UINTEGER AS sid, ${cells.join(', ')} FROM range(${SERIES}) r(s)) ` +
        `TO ${quoteText(path)} (FORMAT parquet, FIELD_IDS {${ids.join(', ')}})`,
    );
    const countsAtTurn: number[] = [];
    const clock = new HurriedClock();
    clock.onTurn = () => countsAtTurn.push(index.count);
    const index: LabelIndex = new LabelIndex(tableOf(), (column) => column, {
      connection,
      files: { absolute: () => path },
      clock,
      labelsMemory: new LabelsMemory(1 << 20),
      newestForm: () => Promise.resolve(tableOf()),
    });
    await index.load([{ path, sidFirst: 0, sidLast: SERIES - 1, bytes: 0, crc32c: 0 }]);
    expect(index.count).to.equal(SERIES);
    expect(countsAtTurn.filter((count) => count > 0).length).to.be.at.least(3);
    const labelsOf = (sid: number): string[] => {
      const labels: string[] = [];
      index.labelsOf(sid, (name, value) => labels.push(`${name}=${value}`));
      return labels;
    };
    expect([0, 1, 299].map(labelsOf)).to.deep.equal([['t0=job'], ['t0=job', 't1=v1'], ['t0=job', 't299=v299']]);
    const tests = [{ name: 't7', equals: 'v7', passes: (value: string) => value === 'v7' }];
    expect([...(await index.matching(tests, new Slices(clock)))]).to.deep.equal([7]);
  });

  it('reads a file with more series than it asks for at a time, and tells names and values of some of them', async () => {
    const many = 130_000;
    const path = join(folder, 'many.parquet');
    const cells = `'d' || s AS t0, if(s % 2 = 0, 'even', NULL) AS t1, if(s = ${many - 1}, '', NULL) AS t2`;
    const ids = `sid: ${SID_FIELD_ID}, t0: 1, t1: 2, t2: 3`;
    await connection.run(
      `COPY (SELECT s::UINTEGER AS sid, ${cells} FROM range(${many}) r(s)) ` +
        `TO ${quoteText(path)} (FORMAT parquet, FIELD_IDS {${ids}})`,
    );
    const table = tableOf();
    const index = new LabelIndex({ ...table, columns: table.columns.slice(0, 3) }, (column) => column, {
      connection,
      files: { absolute: () => path },
      clock: new HurriedClock(),
      labelsMemory: new LabelsMemory(1 << 20),
      newestForm: () => Promise.resolve(tableOf()),
    });
    await index.load([{ path, sidFirst: 0, sidLast: many - 1, bytes: 0, crc32c: 0 }]);
    expect(index.count).to.equal(many);
    const slices = new Slices(new HurriedClock());
    const all = await index.matching([], slices);
    expect([all.length, all[0], all[many - 1]]).to.deep.equal([many, 0, many - 1]);
    expect(await index.namesOf(all, slices)).to.deep.equal(['t0', 't1']);
    expect(await index.namesOf(Int32Array.of(1, many - 1), slices)).to.deep.equal(['t0']);
    expect(await index.valuesIn('t0', Int32Array.of(1, 129_999), slices)).to.deep.equal(['d1', 'd129999']);
    expect(await index.valuesIn('t1', all, slices)).to.deep.equal(['even']);
    expect(await index.valuesIn('t2', all, slices)).to.deep.equal([]);
    expect(await index.valuesIn('none', all, slices)).to.deep.equal([]);
    expect([
      ...(await index.matching([{ name: 't0', equals: 'd125000', passes: (it) => it === 'd125000' }], slices)),
    ]).to.deep.equal([125_000]);
  });
});
