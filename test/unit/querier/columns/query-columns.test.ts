import { statSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { ColumnCache } from '#services/querier/columns/column-cache';
import { OpenSegments } from '#services/querier/columns/open-segments';
import { QueryColumns } from '#services/querier/columns/query-columns';
import { systemClock } from '#shared/clock/clock';
import { openEngine } from '#shared/duckdb/engine';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { SID_FIELD_ID } from '#shared/schema/segment-columns';
import { LocalStore } from '#shared/segments/local-store';
import { tempFolder } from '#test/support/temp-folder';

const GROUPS = 10;
const GROUP_ROWS = 2048;
const VALUE_BYTES = GROUP_ROWS * 8;
const TIME_ID = 1;
const FIELD_ID = 2;

describe('QueryColumns', () => {
  const cleanUps: (() => void)[] = [];

  after(() => {
    for (const cleanUp of cleanUps.reverse()) cleanUp();
  });

  it('keeps as many values as a query may use, the same ones each time, however often it reads them', async () => {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const engine = await openEngine({ threads: 1, memoryBytes: 1 << 28, spillFolder: folder });
    cleanUps.push(() => engine.closeSync());
    const connection = await engine.connect();
    const rows = `SELECT (i // 100)::UINTEGER AS sid, make_timestamp_ns(i) AS ts, i / 7 AS v FROM range(${GROUPS * GROUP_ROWS}) AS s(i)`;
    const ids = `FIELD_IDS {sid: ${SID_FIELD_ID}, ts: ${TIME_ID}, v: ${FIELD_ID}}`;
    const options = `FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V2, DICTIONARY_SIZE_LIMIT 0, ROW_GROUP_SIZE ${GROUP_ROWS}`;
    await connection.run(`COPY (${rows}) TO '${join(folder, 'a')}' (${options}, ${ids})`);
    const file = { path: 'a', bytes: statSync(join(folder, 'a')).size };
    const cache = new ColumnCache(new LocalStore(folder, nodeFileSystem), {
      ...{ footerBytes: 1 << 20, runBytes: 1 << 20, valueBytes: 8 * VALUE_BYTES },
      valueBytesOfQuery: 4.5 * VALUE_BYTES,
    });
    const open = new OpenSegments(cache, systemClock);
    cleanUps.push(() => open.stop());
    const known: number[] = [];
    for (let query = 0; query < 3; query++) {
      const columns = new QueryColumns({ cache, open });
      const request = { file, footer: await columns.footer(file), timeId: TIME_ID };
      // Times alone, as for the newest rows, and then values.
      for (const fieldIds of [[], [FIELD_ID]]) {
        for (let group = 0; group < GROUPS; group++) await columns.groups({ ...request, fieldIds }, [group]);
      }
      const before = columns.counts.knownGroups;
      await columns.groups({ ...request, fieldIds: [FIELD_ID] }, [0]);
      expect(columns.counts.knownGroups).to.equal(before + 1);
      for (let group = 0; group < GROUPS; group++) {
        if (cache.known({ ...request, fieldIds: [FIELD_ID] }, [group]) !== undefined) known.push(group);
      }
    }
    expect(known).to.deep.equal([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
  });
});
