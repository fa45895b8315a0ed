import { expect } from 'chai';

import type { SampleStore } from '#services/querier/samples/sample-store';
import type { Table } from '#shared/contracts/gen/common';
import { UNCOUNTED_SLOT } from '#shared/limits/bounded-queue';
import { decodeDefinitions, decodeTags, encodeDefinitions, encodeTags } from '#shared/rowbatch/definitions';
import { FOREVER, matcher, openSamples, printed, selectSamples } from '#test/support/sample-rig';
import { CALL, StorageRig, type RigRow } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const SECOND = 1_000_000_000n;
const BOM = '\uFEFF';

describe('SampleStore labels', () => {
  const cleanUps: (() => unknown)[] = [];
  let rig: StorageRig;
  let store: SampleStore;

  beforeEach(async () => {
    rig = await StorageRig.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    cleanUps.push(() => rig.stop());
    const spillFolder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const opened = await openSamples(rig, spillFolder);
    cleanUps.push(() => opened.close());
    ({ store } = opened);
  });

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  /** Adds a tag to the table, as a write does. */
  async function withZone(name: string): Promise<Table> {
    const zone = {
      name: 'zone',
      type: 'String',
      kind: 'tag',
      nullable: true,
      defaultSql: '',
      comment: '',
      indexes: [],
    };
    const request = { database: 'public', tables: [{ name, columns: [zone], options: {} }], create: false };
    return (await rig.metadata.service.ensureTables(request, CALL)).tables[0];
  }

  /** Writes a row of a new series that has a zone. */
  async function writeInZone(table: Table, row: RigRow, zone: string): Promise<void> {
    const columnId = table.columns.find(({ name }) => name === 'zone')?.id ?? 0;
    const value = new TextEncoder().encode(zone);
    const definitions = decodeDefinitions(rig.request(table, [row]).definitions).map(({ tsid, tags }) => {
      return { tsid, tags: encodeTags([...decodeTags(tags), { columnId, value }]) };
    });
    await rig.ingester.service.write(rig.request(table, [row], { definitions: encodeDefinitions(definitions) }), CALL);
  }

  const IN_ZONES = ['{__name__="m", host="x"} 1:1', '{__name__="m", host="y", zone="north"} 2:2'];

  it('returns complete labels when a query started before a tag was added, and in later queries', async () => {
    const table = await rig.table('m');
    await rig.write(table, [{ host: 'x', time: SECOND, a: 1 }]);
    const open = await store.open('public', CALL, UNCOUNTED_SLOT);
    await writeInZone(await withZone('m'), { host: 'y', time: 2n * SECOND, a: 2 }, 'north');
    expect(printed(await open.select([matcher('__name__=m')], ...FOREVER))).to.deep.equal(IN_ZONES);
    open.close();
    expect(await selectSamples(store, ['__name__=m'])).to.deep.equal(IN_ZONES);
  });

  it('returns complete labels when such a query is the first to read a series file with the new tag', async () => {
    const table = await rig.table('m');
    await rig.write(table, [{ host: 'x', time: SECOND, a: 1 }]);
    const open = await store.open('public', CALL, UNCOUNTED_SLOT);
    const wide = await withZone('m');
    await writeInZone(wide, { host: 'y', time: 2n * SECOND, a: 2 }, 'north');
    await rig.flush(wide);
    expect(printed(await open.select([matcher('__name__=m')], ...FOREVER))).to.deep.equal(IN_ZONES);
    open.close();
    expect(await selectSamples(store, ['__name__=m'])).to.deep.equal(IN_ZONES);
  });

  it('returns complete labels when queries by an older and a newer schema alternate', async () => {
    const table = await rig.table('m');
    await rig.write(table, [{ host: 'x', time: SECOND, a: 1 }]);
    const older = await store.open('public', CALL, UNCOUNTED_SLOT);
    const wide = await withZone('m');
    expect(await selectSamples(store, ['__name__=m'])).to.deep.equal(IN_ZONES.slice(0, 1));
    await writeInZone(wide, { host: 'y', time: 2n * SECOND, a: 2 }, 'north');
    await rig.flush(wide);
    expect(printed(await older.select([matcher('__name__=m')], ...FOREVER))).to.deep.equal(IN_ZONES);
    older.close();
    expect(await selectSamples(store, ['zone=north'])).to.deep.equal(IN_ZONES.slice(1));
  });

  it('keeps a byte order mark, in memory and in files', async () => {
    const table = await rig.table('m', { physical_metric_table: 'true' });
    const rows = ['up', `${BOM}up`].map((name, i) => ({ name, host: `${name}-1`, time: SECOND, a: i }));
    await rig.write(table, rows);
    const all = ['{__name__="up", host="up-1"} 1:0', `{__name__="${BOM}up", host="${BOM}up-1"} 1:1`];
    for (const isFlushed of [false, true]) {
      if (isFlushed) await rig.flush(table);
      for (const reader of [store, await another(rig)]) {
        expect(await selectSamples(reader, ['__name__=~.*up'])).to.deep.equal(all);
        expect(await selectSamples(reader, [`host=${BOM}up-1`])).to.deep.equal(all.slice(1));
        expect(await selectSamples(reader, ['host=up-1'])).to.deep.equal(all.slice(0, 1));
      }
      for (const host of ['up-1', `${BOM}up-1`]) {
        expect((await rig.found(table, new Map([['host', [host]]]))).rowCount).to.equal(1);
      }
    }
  });

  it('distinguishes metrics that differ in a byte order mark after a restart', async () => {
    const options = { physical_metric_table: 'true' };
    const table = await rig.table('m', options);
    await rig.write(table, [
      { name: 'up', host: 'a', time: SECOND, a: 1 },
      { name: `${BOM}up`, host: 'b', time: SECOND, a: 2 },
    ]);
    await rig.flush(table);
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    rig.crashImage(folder);
    const second = await StorageRig.start(folder);
    cleanUps.push(() => second.stop());
    await second.write(table, [
      { name: 'up', host: 'c', time: SECOND, a: 3 },
      { name: `${BOM}up`, host: 'd', time: SECOND, a: 4 },
    ]);
    await second.flush(table);
    const reader = await another(second);
    const hosts = async (name: string): Promise<string[]> => {
      return (await selectSamples(reader, [`__name__=${name}`])).map((text) => /host="(.)"/.exec(text)?.[1] ?? '');
    };
    expect([await hosts('up'), await hosts(`${BOM}up`)]).to.deep.equal([
      ['a', 'c'],
      ['b', 'd'],
    ]);
  });

  /** Opens a sample store without cached data. */
  async function another(of: StorageRig): Promise<SampleStore> {
    const opened = await openSamples(
      of,
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
    );
    cleanUps.push(() => opened.close());
    return opened.store;
  }
});
