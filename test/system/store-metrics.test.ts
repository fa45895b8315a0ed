import { statSync } from 'node:fs';

import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND, pollUntil } from '#test/support/almanac';
import { parquetPaths } from '#test/support/parquet-table';
import { tempFolder } from '#test/support/temp-folder';

/** Sums over the manifest are kept for ten seconds. */
const WITHIN_MS = 20_000;

describe('metrics of the store', function () {
  this.timeout(60_000);
  const cleanUps: (() => unknown)[] = [];

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  it('report the size of all tables, and the free space of the disk', async () => {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const almanac = await Almanac.start(folder, MERGES_BY_HAND);
    cleanUps.push(() => almanac.kill());
    const told = async (name: string): Promise<number> => {
      const { text } = await almanac.get('/metrics');
      return Number(new RegExp(`^almanac_${name} (\\S+)$`, 'm').exec(text)?.[1]);
    };
    const becomes = (name: string, value: number): Promise<boolean> =>
      pollUntil(performance.now() + WITHIN_MS, async () => (await told(name)) === value);

    expect(await told('metadata_store_segments')).to.equal(0);
    await almanac.written('m,h=a v=1 1\nm,h=b v=2 2');
    await almanac.flush('m');
    await almanac.written('m,h=a v=1 3');
    await almanac.flush('m');
    await almanac.written('other v=1 1');
    await almanac.flush('other');
    expect(await becomes('metadata_store_segments', 3)).to.equal(true);
    expect(await told('metadata_store_rows')).to.equal(4);
    const bytes = parquetPaths(folder).reduce((sum, path) => sum + statSync(path).size, 0);
    expect(await told('metadata_store_bytes')).to.equal(bytes);

    expect(await told('metadata_database_bytes\\{db="public"\\}')).to.equal(bytes);
    expect(await told('metadata_database_segments\\{db="public"\\}')).to.equal(3);
    expect(await told('catalog_catalog_count')).to.equal(1);
    expect(await told('catalog_schema_count')).to.equal(1);
    expect(await told('meta_create_catalog_count')).to.equal(1);
    const { text } = await almanac.get('/metrics');
    expect(text).to.match(/^# HELP almanac_app_version app version$/m);
    expect(text).to.match(/^almanac_app_version\{app="almanac-standalone",short_version="[^"]+",version="[^"]+"\} 1$/m);

    for (const disk of ['store', 'wal']) {
      const free = await told(`ingester_${disk}_free_bytes`);
      expect(free)
        .to.be.greaterThan(0)
        .and.lessThan(await told(`ingester_${disk}_total_bytes`));
    }
    expect(await told('ingester_compactions_running')).to.equal(0);
    const regions = await almanac.rows('SHOW FULL REGIONS');
    expect(regions.map(([table, , , , , , , segments, rows]) => [table, segments, rows])).to.have.deep.members([
      ['m', 2, 3],
      ['other', 1, 1],
    ]);
    expect(regions.reduce((sum, row) => sum + Number(row[9]), 0)).to.equal(bytes);
    const ofM = Number(regions.find(([table]) => table === 'm')?.[9]);
    const { storage } = JSON.parse((await almanac.get('/status')).text) as { storage: Record<string, number> };
    expect(storage).to.include({ segments: 3, segment_bytes: bytes, garbage_bytes: 0, running_merges: 0 });
    expect(storage['disk_free_bytes']).to.be.greaterThan(0).and.lessThan(storage['disk_total_bytes']);
    expect(storage['log_disk_free_bytes']).to.be.greaterThan(0).and.lessThan(storage['log_disk_total_bytes']);
    expect(storage['log_bytes']).to.be.greaterThan(0);

    await almanac.rows('DROP TABLE m');
    expect(await becomes('metadata_store_segments', 1)).to.equal(true);
    expect(await told('metadata_store_rows')).to.equal(1);
    expect(await told('metadata_store_garbage_files')).to.be.greaterThan(0);
    expect(await told('metadata_store_garbage_bytes')).to.equal(ofM);
    expect(await almanac.stop()).to.equal(0);
  });
});
