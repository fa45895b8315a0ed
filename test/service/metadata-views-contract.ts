import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { CreateViewResponse, MetadataService, View } from '#shared/contracts/gen/metadata';
import { failure } from '#test/support/failure';
import { TIME, watch, type MetadataUnderTest, type StartMetadata } from '#test/support/metadata-rig';

const call = ownCall('test');
const VIEW: View = {
  ...{ viewId: 0, createdMs: 0, database: 'public', name: 'v', columns: [{ name: 'a', source: 'b', type: 'Int64' }] },
  ...{ query: 'SELECT 1', queryDatabase: 'public', statement: 'CREATE VIEW v AS SELECT 1' },
};

/** Tests of views: their storage, their names and their watch. */
export function viewsContract(name: string, start: StartMetadata): void {
  describe(`views of metadata, ${name}`, () => {
    let metadata: MetadataUnderTest;
    let service: MetadataService;

    beforeEach(async () => {
      metadata = await start(systemClock);
      ({ service } = metadata);
    });

    afterEach(() => metadata.stop());

    const create = (view: View, change = {}): Promise<CreateViewResponse> =>
      service.createView({ view, orReplace: false, ifNotExists: false, ...change }, call);
    const table = (tableName: string): Promise<unknown> => {
      const request = { database: 'public', name: tableName, columns: [TIME], options: {}, primaryKey: [] };
      return service.createTable({ ...request, ifNotExists: false, regions: 1 }, call);
    };

    it('stores a view, replaces it under another ID and drops it', async () => {
      expect((await create(VIEW)).created).to.equal(true);
      const first = await service.getView({ database: 'public', name: 'v' }, call);
      expect(first).to.deep.include({ ...VIEW, viewId: first.viewId, createdMs: first.createdMs });
      expect((await create(VIEW, { ifNotExists: true })).created).to.equal(false);
      expect(await failure(create(VIEW))).to.include({ code: 'table_already_exists' });
      await create({ ...VIEW, query: 'SELECT 2' }, { orReplace: true });
      service = await metadata.restart();
      const second = await service.getView({ database: 'public', name: 'v' }, call);
      expect(second.query).to.equal('SELECT 2');
      expect(second.viewId).to.be.greaterThan(first.viewId);
      const drop = { database: 'public', name: 'v', ifExists: false };
      expect((await service.dropView(drop, call)).dropped).to.equal(true);
      expect(await failure(service.dropView(drop, call))).to.include({ code: 'table_not_found' });
      expect((await service.dropView({ ...drop, ifExists: true }, call)).dropped).to.equal(false);
      expect(await failure(service.getView(drop, call))).to.include({ code: 'table_not_found' });
    });

    it('lets a table and a view have no name in common', async () => {
      await create(VIEW);
      await table('t');
      expect(await failure(table('v'))).to.include({ code: 'table_already_exists' });
      expect(await failure(create({ ...VIEW, name: 't' }, { orReplace: true }))).to.include({
        code: 'table_already_exists',
      });
      const ensured = { name: 'v', columns: [TIME], options: {} };
      const ensuring = service.ensureTables({ database: 'public', tables: [ensured], create: true }, call);
      expect(await failure(ensuring)).to.include({ code: 'invalid_arguments' });
    });

    it('reports views to watchers, and their end with their database', async () => {
      await service.createDatabase({ name: 'd', options: {}, ifNotExists: false }, call);
      await create({ ...VIEW, database: 'd' });
      const watching = watch(service, 0n);
      const kinds: string[] = [];
      for (let event = await watching.next(); event.kind !== 'state_end'; event = await watching.next()) {
        kinds.push(event.kind);
      }
      expect(kinds).to.include('view_changed');
      await service.dropDatabase({ name: 'd', ifExists: false }, call);
      const dropped = await watching.next();
      expect(dropped).to.deep.include({ kind: 'view_dropped', droppedView: { database: 'd', name: 'v' } });
      await watching.end();
    });

    it('limits the length of a query', async () => {
      expect(await failure(create({ ...VIEW, query: 'x'.repeat(70_000) }))).to.include({ code: 'invalid_arguments' });
    });
  });
}
