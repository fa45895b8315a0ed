import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';
import Database from 'better-sqlite3';
import { expect } from 'chai';

import { crc32c } from '#shared/bytes/crc32c';
import type { Segment, Table } from '#shared/contracts/gen/common';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { refusal } from '#test/support/failure';
import { openSamples, selectSamples } from '#test/support/sample-rig';
import { CALL, StorageRig, type RigRow } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const METRICS = 10;
const HOSTS = 100;
/** Seconds of a batch, and of one flush: enough rows for two segments. */
const BATCH = 20;
const FLUSH = 280;
const SECOND = 1_000_000_000n;

describe('segments of metric tables', () => {
  const cleanUps: (() => unknown)[] = [];

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  function newFolder(): string {
    return tempFolder((cleanUp) => cleanUps.push(cleanUp));
  }

  async function start(folder = newFolder()): Promise<StorageRig> {
    const rig = await StorageRig.start(folder);
    cleanUps.push(() => rig.stop());
    return rig;
  }

  function metricTable(rig: StorageRig): Promise<Table> {
    return rig.table('t', { physical_metric_table: 'true', merge_mode: 'last_row' });
  }

  async function segmentsOf(rig: StorageRig, table: Table): Promise<readonly Segment[]> {
    const { segments } = await rig.metadata.service.getManifest({ regionId: table.regions[0].regionId }, CALL);
    return segments;
  }

  /** Writes host after host, as they are scraped: the series of a metric are not adjacent. */
  async function write(rig: StorageRig, table: Table, from: number): Promise<void> {
    for (let second = from; second < from + FLUSH; second += BATCH) {
      const rows = Array.from({ length: METRICS * HOSTS * BATCH }, (_, k): RigRow => {
        const host = Math.floor(k / METRICS) % HOSTS;
        const at = second + Math.floor(k / METRICS / HOSTS);
        return { name: `m${k % METRICS}`, host: `h${host}`, time: BigInt(at) * SECOND, a: host + at };
      });
      await rig.write(table, rows);
    }
    await rig.flush(table);
  }

  async function read(rig: StorageRig, texts: readonly string[]): Promise<string[]> {
    const opened = await openSamples(rig, newFolder());
    try {
      return await selectSamples(opened.store, texts);
    } finally {
      opened.close();
    }
  }

  it('are sorted by metric, and each metric is in few of them, also after a restart', async () => {
    let rig = await start();
    const table = await metricTable(rig);
    await write(rig, table, 0);
    const image = newFolder();
    rig.crashImage(image);
    rig = await start(image);
    await write(rig, table, FLUSH);
    const segments = await segmentsOf(rig, table);
    expect(segments).to.have.length(4);
    for (const { hasMetrics, metricFirst, metricLast } of segments) {
      // Metric numbers are those of the first host's series, before and after the restart.
      expect([hasMetrics, metricFirst <= metricLast, metricLast < METRICS]).to.deep.equal([true, true, true]);
    }
    const connection = await (await DuckDBInstance.create()).connect();
    for (const { path } of segments) {
      const keys = '(__metric, __sid, time)';
      const unsorted = `SELECT count(*) FROM (SELECT ${keys} AS k, lag(${keys}) OVER () AS l
        FROM read_parquet('${join(rig.folder, 'store', path)}')) WHERE l IS NOT NULL AND l >= k`;
      expect((await (await connection.run(unsorted)).getRows())[0][0]).to.equal(0n);
    }
    connection.closeSync();
    // By SQL.
    expect(await rig.found(table, new Map([[METRIC_NAME, ['m3']]]))).to.deep.equal({
      rowCount: 2 * FLUSH * HOSTS,
      segments: 2,
    });
    expect(await rig.found(table, new Map([[METRIC_NAME, ['m3', 'none']]]))).to.deep.include({
      rowCount: 2 * FLUSH * HOSTS,
    });
    expect(await rig.found(table, new Map([[METRIC_NAME, ['none']]]))).to.deep.include({ rowCount: 0 });
    expect(await rig.count(table)).to.equal(2 * FLUSH * METRICS * HOSTS);
    // By PromQL, which does not open files of other metrics.
    for (const { path, metricFirst } of segments) if (metricFirst > 3) rmSync(join(rig.folder, 'store', path));
    expect(await read(rig, [`${METRIC_NAME}=m3`])).to.have.length(HOSTS);
    const [one] = await read(rig, [`${METRIC_NAME}=m3`, 'host=h7']);
    const samples = [...Array(2 * FLUSH).keys()].map((second) => `${second}:${7 + second}`);
    expect(one).to.equal(`{__name__="m3", host="h7"} ${samples.join(' ')}`);
    expect((await refusal(read(rig, [`${METRIC_NAME}=m9`])))?.message).to.include('is missing');
  }).timeout(60_000);

  it('are read together with those that were written without metric numbers', async () => {
    const old = await start();
    const table = await metricTable(old);
    const row = (name: string, host: string, seconds: number, a: number): RigRow => {
      return { name, host, time: BigInt(seconds) * SECOND, a };
    };
    await old.write(table, [row('m', 'x', 1, 1), row('n', 'x', 1, 10), row('m', 'y', 1, 2), row('m', 'x', 2, 3)]);
    await old.flush(table);
    const image = newFolder();
    old.crashImage(image);
    for (const { path } of await segmentsOf(old, table)) await withoutMetrics(image, path, table);
    const rig = await start(image);
    await rig.write(table, [row('m', 'x', 1, 11), row('m', 'z', 3, 4), row('n', 'y', 3, 5)]);
    const expected = [
      '{__name__="m", host="x"} 1:11 2:3',
      '{__name__="m", host="y"} 1:2',
      '{__name__="m", host="z"} 3:4',
    ];
    for (let flushes = 0; flushes < 2; flushes++) {
      expect(await read(rig, [`${METRIC_NAME}=m`])).to.deep.equal(expected);
      expect(await read(rig, ['host=x', `${METRIC_NAME}=n`])).to.deep.equal(['{__name__="n", host="x"} 1:10']);
      expect(await rig.found(table, new Map([[METRIC_NAME, ['m']]]))).to.deep.include({ rowCount: 4 });
      expect(await rig.count(table)).to.equal(6);
      await rig.flush(table);
    }
    expect((await segmentsOf(rig, table)).map(({ hasMetrics }) => hasMetrics)).to.deep.equal([false, true]);
  });
});

/** Rewrites a segment and its entry as the release before metric numbers did. */
async function withoutMetrics(folder: string, path: string, table: Table): Promise<void> {
  const file = join(folder, 'store', path);
  const connection = await (await DuckDBInstance.create()).connect();
  const fields = table.columns.filter(({ kind }) => kind !== 'tag').map(({ name, id }) => `"${name}": ${id}`);
  await connection.run(
    `COPY (SELECT * EXCLUDE (__metric) FROM read_parquet('${file}') ORDER BY __sid, time) TO '${file}.old'
     (FORMAT parquet, FIELD_IDS {__sid: 1000000001, ${fields.join(', ')}})`,
  );
  connection.closeSync();
  renameSync(`${file}.old`, file);
  const bytes = readFileSync(file);
  const catalog = new Database(join(folder, 'metadata/almanac.db'));
  catalog
    .prepare('UPDATE segments SET metric_first = NULL, metric_last = NULL, bytes = ?, crc32c = ? WHERE path = ?')
    .run(bytes.length, crc32c(bytes), path);
  catalog.close();
}
