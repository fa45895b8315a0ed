import { expect } from 'chai';

import { systemRandom } from '#shared/clock/random';
import { ownCall } from '#shared/contracts/call';
import type { RegionManifest, Table } from '#shared/contracts/gen/common';
import type { ColumnSpec, MetadataService } from '#shared/contracts/gen/metadata';
import { CatalogCache } from '#shared/discovery/catalog-cache';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { RunningMetadata } from '#services/metadata/index';
import { failureCode } from '../../../support/failure.js';
import { metadataIn, testFolder, type TestFolder } from '../../../support/metadata.js';
import { NO_FOLDER } from '#test/support/metadata-rig';
import { hastyClock, quietLog } from '../../../support/writer-bench.js';

const call = ownCall('test');
const TIME: ColumnSpec = {
  name: 'ts',
  type: 'TimestampMillisecond',
  kind: 'time',
  nullable: false,
  defaultSql: '',
  comment: '',
  indexes: [],
};

describe('CatalogCache', () => {
  let folder: TestFolder;
  let running: RunningMetadata;
  /** What the cache talks to: the running service, which tests replace. */
  let metadata: MetadataService;
  let catalog: CatalogCache;
  let calls: string[];

  beforeEach(async () => {
    folder = testFolder();
    running = await metadataIn(folder.path);
    await running.service.registerNode(
      { role: 'standalone', addr: '', slot: '0', version: 'test', ...NO_FOLDER },
      call,
    );
    calls = [];
    // Passes each call on to the service that runs at the moment, and notes it.
    metadata = new Proxy({} as MetadataService, {
      get: (_target, name: keyof MetadataService) => {
        calls.push(name);
        return running.service[name].bind(running.service);
      },
    });
    catalog = new CatalogCache({ metadata, clock: hastyClock, random: systemRandom, log: quietLog });
  });

  afterEach(async () => {
    await catalog.stop();
    await running.stop();
    folder.remove();
  });

  async function ensure(name: string, fields: readonly string[] = []): Promise<{ table: Table; version: bigint }> {
    const columns = [...fields.map((field) => ({ ...TIME, name: field, type: 'Int64', kind: 'field' })), TIME];
    const request = { database: 'public', tables: [{ name, columns, options: {} }], create: true };
    const { tables, catalogVersion } = await running.service.ensureTables(request, call);
    return { table: tables[0], version: catalogVersion };
  }

  async function drop(name: string): Promise<bigint> {
    const request = { database: 'public', name, ifExists: false };
    return (await running.service.dropTable(request, call)).catalogVersion;
  }

  async function restartMetadata(): Promise<void> {
    await running.stop();
    running = await metadataIn(folder.path);
  }

  it('requests what it does not know once, then no more', async () => {
    const { table } = await ensure('cpu');
    expect(await catalog.table('public', 'cpu', call)).to.deep.equal(table);
    expect(await catalog.table('public', 'cpu', call)).to.deep.equal(table);
    expect(calls).to.deep.equal(['getTable']);
    expect(await failureCode(catalog.table('public', 'nope', call))).to.equal('table_not_found');
    expect(await failureCode(catalog.table('nope', 'cpu', call))).to.equal('database_not_found');
    expect(await failureCode(catalog.database('nope', call))).to.equal('database_not_found');
  });

  it('knows everything once it watches', async () => {
    const { table } = await ensure('cpu');
    catalog.start();
    await catalog.reached(1n, call);
    expect(catalog.known('public', 'cpu')).to.deep.equal(table);
    expect(catalog.knownById(table.tableId)).to.deep.equal(table);
    expect(await catalog.tables('public', call)).to.deep.equal([table]);
    expect((await catalog.databases(call)).map((it) => it.name)).to.deep.equal(['public']);
    expect(calls).to.deep.equal(['watch']);
  });

  it('follows changes in order, and its version grows with each', async () => {
    catalog.start();
    const seen: string[] = [];
    catalog.onTable((table) => seen.push(`${table.name} ${table.columns.length}`));
    catalog.onDropped((table) => seen.push(`${table.name} gone`));
    await catalog.reached((await ensure('cpu')).version, call);
    const before = catalog.version;
    await catalog.reached((await ensure('cpu', ['a'])).version, call);
    expect(catalog.version > before).to.equal(true);
    await catalog.reached(await drop('cpu'), call);
    expect(catalog.known('public', 'cpu')).to.equal(undefined);
    expect(seen).to.deep.equal(['cpu 1', 'cpu 2', 'cpu gone']);
    expect(await failureCode(catalog.table('public', 'cpu', call))).to.equal('table_not_found');
  });

  it('reports manifests', async () => {
    catalog.start();
    const { table } = await ensure('cpu');
    const seen: RegionManifest[] = [];
    catalog.onManifest((manifest) => seen.push(manifest));
    const [{ regionId, epoch }] = table.regions;
    const from = 1n << 40n;
    const request = { regionId, epoch, watermarkFrom: from, watermarkTo: from + 1n, segments: [], seriesFiles: [] };
    const committed = await running.service.commitSegments(request, call);
    await catalog.reached((await running.service.listDatabases({}, call)).catalogVersion, call);
    expect(seen).to.deep.equal([committed]);
  });

  it('drops databases with their tables', async () => {
    catalog.start();
    const made = await running.service.createDatabase({ name: 'db', options: {}, ifNotExists: false }, call);
    await catalog.reached(made.catalogVersion, call);
    expect((await catalog.database('db', call)).name).to.equal('db');
    const { catalogVersion } = await running.service.dropDatabase({ name: 'db', ifExists: false }, call);
    await catalog.reached(catalogVersion, call);
    expect(await failureCode(catalog.database('db', call))).to.equal('database_not_found');
    expect(await failureCode(catalog.tables('db', call))).to.equal('database_not_found');
  });

  it('uses the reply to another call before the watch delivers it, and never returns to an older one', async () => {
    const narrow = (await ensure('cpu')).table;
    const wide = (await ensure('cpu', ['a'])).table;
    catalog.apply(wide);
    catalog.apply(narrow);
    expect(catalog.known('public', 'cpu')).to.deep.equal(wide);
    await drop('cpu');
    const again = (await ensure('cpu')).table;
    catalog.apply(again);
    catalog.apply(wide);
    expect(catalog.known('public', 'cpu')).to.deep.equal(again);
  });

  it('does not restore a dropped table from a delayed reply', async () => {
    catalog.start();
    const { table } = await ensure('cpu');
    await catalog.reached(await drop('cpu'), call);
    catalog.apply(table);
    expect(catalog.known('public', 'cpu')).to.equal(undefined);
    expect(catalog.note(table)).to.equal(false);
  });

  it('serves known tables while metadata is away, and catches up when it is back', async () => {
    catalog.start();
    await catalog.reached((await ensure('cpu')).version, call);
    await running.stop();
    expect((await catalog.table('public', 'cpu', call)).name).to.equal('cpu');
    expect(await catalog.tables('public', call)).to.have.length(1);
    expect(await failureCode(catalog.table('public', 'other', call))).to.equal('external');
    running = await metadataIn(folder.path);
    await catalog.reached((await ensure('other')).version, call);
    expect(catalog.known('public', 'other')?.name).to.equal('other');
  });

  it('drops what was dropped while it was away', async () => {
    const resets: bigint[] = [];
    const gone: unknown[] = [];
    catalog.start();
    const { table } = await ensure('cpu');
    await catalog.reached((await ensure('kept')).version, call);
    await running.stop();
    catalog.onReset((version) => resets.push(version));
    catalog.onDropped((dropped) => gone.push(dropped));
    // Changes that a restarted metadata no longer has as events.
    running = { ...running, service: { ...running.service, watch: refuse } };
    const back = await metadataIn(folder.path);
    const request = { database: 'public', name: 'cpu', ifExists: false };
    const { catalogVersion } = await back.service.dropTable(request, call);
    await back.stop();
    running = await metadataIn(folder.path);
    await catalog.reached(catalogVersion, call);
    expect(catalog.known('public', 'cpu')).to.equal(undefined);
    expect(catalog.known('public', 'kept')?.name).to.equal('kept');
    const regionIds = table.regions.map((region) => region.regionId);
    expect(gone).to.deep.equal([{ tableId: table.tableId, database: 'public', name: 'cpu', regionIds }]);
    expect(resets).to.deep.equal([catalogVersion]);
  });

  it('has users and tokens as they change, also those that changed while it was away', async () => {
    const service = (): MetadataService => running.service;
    const verifier = 'scrypt:15:00:' + '11'.repeat(32);
    const user = (name: string): Promise<unknown> => service().createUser({ name, verifier, ifNotExists: false }, call);
    catalog.start();
    for (const name of ['ann', 'ben']) await user(name);
    const hash = 'ab'.repeat(32);
    const { catalogVersion } = await service().createToken({ user: 'ann', name: 't', hash }, call);
    await catalog.reached(catalogVersion, call);
    expect(catalog.users.findToken(hash)?.name).to.equal('ann');
    expect(catalog.users.find('ben')?.grants).to.deep.equal([]);
    const known = catalog.users.find('ann')?.verifier;
    await running.stop();
    running = { ...running, service: { ...running.service, watch: refuse } };
    expect(catalog.users.findToken(hash)?.name).to.equal('ann');
    const back = await metadataIn(folder.path);
    await back.service.dropUser({ name: 'ben', ifExists: false }, call);
    await back.service.grantMode({ user: 'ann', database: '', mode: 'read' }, call);
    const dropped = await back.service.dropToken({ user: 'ann', name: 't' }, call);
    await back.stop();
    running = await metadataIn(folder.path);
    await catalog.reached(dropped.catalogVersion, call);
    expect(catalog.users.find('ben')).to.equal(undefined);
    expect(catalog.users.findToken(hash)).to.equal(undefined);
    expect(catalog.users.find('ann')?.grants).to.deep.equal([{ database: '', mode: 'read' }]);
    // Passwords that were right are remembered by this object.
    expect(catalog.users.find('ann')?.verifier).to.equal(known);
  });

  it('restarts the watch after it ended', async () => {
    catalog.start();
    await catalog.reached((await ensure('a')).version, call);
    await restartMetadata();
    await catalog.reached((await ensure('b')).version, call);
    await restartMetadata();
    await catalog.reached((await ensure('c')).version, call);
    expect((await catalog.tables('public', call)).map((table) => table.name)).to.deep.equal(['a', 'b', 'c']);
  });

  it('stops waiting for a version when the call ends', async () => {
    const cancel = new AbortController();
    const waiting = catalog.reached(99n, ownCall('test', cancel.signal));
    cancel.abort(new AlmanacError('deadline_exceeded', 'too late'));
    expect(await failureCode(waiting)).to.equal('deadline_exceeded');
  });

  describe('nodes', () => {
    async function join(slot: string, role = 'ingester'): Promise<number> {
      const request = { role, addr: `${slot}:1`, slot, version: 'test', ...NO_FOLDER };
      return (await running.service.registerNode(request, call)).nodeId;
    }

    /** Waits until the watch has brought everything up to now. */
    async function caughtUp(): Promise<void> {
      await catalog.reached((await running.service.listDatabases({}, call)).catalogVersion, call);
    }

    function states(): string[] {
      return catalog.nodes().map((node) => `${node.role}${node.slot} ${node.state}`);
    }

    it('are those of the state, then as they change', async () => {
      const first = await join('a');
      catalog.start();
      await catalog.reached(1n, call);
      expect(states()).to.deep.equal(['standalone0 ready', 'ingestera starting']);
      const seen: string[] = [];
      const end = catalog.onNode(({ nodeId, node }) => seen.push(`${nodeId} ${node?.state ?? 'removed'}`));
      await running.service.heartbeat({ nodeId: first, state: 'ready' }, call);
      const gateway = await join('', 'gateway');
      await caughtUp();
      expect(catalog.node(first)).to.include({ state: 'ready', addr: 'a:1' });
      await running.service.heartbeat({ nodeId: gateway, state: 'left' }, call);
      await caughtUp();
      expect(catalog.node(gateway)).to.equal(undefined);
      expect(states()).to.deep.equal(['standalone0 ready', 'ingestera ready']);
      end();
      await running.service.heartbeat({ nodeId: first, state: 'draining' }, call);
      await caughtUp();
      expect(seen).to.deep.equal([`${first} ready`, `${gateway} starting`, `${gateway} removed`]);
    });

    it('disappear if a complete state does not name them', async () => {
      const gateway = await join('', 'gateway');
      catalog.start();
      await caughtUp();
      const seen: (number | undefined)[] = [];
      catalog.onNode(({ nodeId, node }) => seen.push(node === undefined ? nodeId : undefined));
      await running.stop();
      const service = { ...running.service, watch: refuse };
      running = { ...running, service };
      const back = await metadataIn(folder.path);
      await back.service.heartbeat({ nodeId: gateway, state: 'left' }, call);
      await back.stop();
      running = await metadataIn(folder.path);
      await caughtUp();
      expect(states()).to.deep.equal(['standalone0 ready']);
      expect(seen.filter((it) => it !== undefined)).to.deep.equal([gateway]);
    });

    it('move regions: watchers of tables learn the new owner, and no older version returns', async () => {
      const { table } = await ensure('cpu');
      const [region] = table.regions;
      const { regionId, epoch, nodeId } = region;
      const next = await join('a');
      await running.service.heartbeat({ nodeId: next, state: 'ready' }, call);
      catalog.start();
      await caughtUp();
      const owners: unknown[] = [];
      catalog.onTable(({ regions }) => owners.push([regions[0].epoch, regions[0].nodeId]));
      const { opening } = await running.service.openRegion({ regionId, nodeId }, call);
      const request = { regionId, epoch, nodeId, watermark: 1n << 40n, appliedIds: new Uint8Array(0), opening };
      await running.service.sealRegion({ ...request, toNodeId: next }, call);
      await caughtUp();
      catalog.apply(table);
      expect(owners).to.deep.equal([[2, next]]);
      expect(catalog.known('public', 'cpu')?.regions[0].nodeId).to.equal(next);
    });
  });
});

async function* refuse(): AsyncIterable<never> {
  yield* await Promise.reject<never[]>(new AlmanacError('external', 'metadata is away'));
}
