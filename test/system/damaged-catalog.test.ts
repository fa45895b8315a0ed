import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

/** Damages the page where entries of a table of the catalog begin. @returns the path of the catalog. */
function damageTable(folder: string, table: string): string {
  const path = join(folder, 'metadata/almanac.db');
  const connection = new Database(path);
  connection.pragma('wal_checkpoint(TRUNCATE)');
  const query = connection.prepare<[string], { rootpage: number }>('SELECT rootpage FROM sqlite_schema WHERE name = ?');
  const { rootpage } = query.get(table)!;
  connection.close();
  const bytes = readFileSync(path);
  const pageBytes = bytes.readUInt16BE(16);
  bytes.fill(0xee, (rootpage - 1) * pageBytes, rootpage * pageBytes);
  writeFileSync(path, bytes);
  return path;
}

describe('damage of the catalog that no start reads', function () {
  this.timeout(60_000);
  const cleanUps: (() => unknown)[] = [];
  let folder = '';

  beforeEach(() => (folder = tempFolder((cleanUp) => cleanUps.push(cleanUp))));
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  async function start(): Promise<Almanac> {
    const almanac = await Almanac.start(folder, MERGES_BY_HAND);
    cleanUps.push(() => almanac.kill());
    return almanac;
  }

  it('is reported once with its path, and invents neither sums nor rows', async () => {
    const before = await start();
    await before.written('m,h=a v=1 1');
    await before.flush('m');
    expect(await before.stop()).to.equal(0);
    const path = damageTable(folder, 'segments');

    const almanac = await start();
    for (let i = 0; i < 3; i++) {
      const read = await almanac.sql('SELECT * FROM m');
      expect(read.status, read.text).to.equal(503);
      expect(read.text).to.match(/"metadata\/almanac\.db\\?" failed: SQLITE_CORRUPT/);
      expect((await almanac.write('m,h=a v=2 2')).status).to.equal(503);
    }
    const { text } = await almanac.get('/metrics');
    expect(text).not.to.match(/^almanac_metadata_store_(segments|rows|bytes) /m);
    expect(text).to.match(/^almanac_metadata_damaged_files_total 1$/m);
    expect((await almanac.get('/health')).status).to.equal(200);
    const lines = almanac.stderr.split('\n').filter((line) => line.includes('"msg":"catalog is damaged"'));
    expect(lines).to.have.length(1);
    expect(JSON.parse(lines[0])).to.include({ level: 'error', file: path, reason: 'SQLITE_CORRUPT' });
  });
});
