import { join } from 'node:path';

import { expect } from 'chai';

import { LabelIndex } from '#services/querier/samples/label-index';
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
});
