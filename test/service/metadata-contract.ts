import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { Segment, Table } from '#shared/contracts/gen/common';
import type { ColumnSpec, EnsureTable, MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { failure, failureCode } from '../support/failure.js';
import {
  column,
  HOST,
  known,
  segment,
  TIME,
  watch,
  type MetadataUnderTest,
  type StartMetadata,
  NO_FOLDER,
} from '../support/metadata-rig.js';
import { folderContract } from './metadata-folder-contract.js';
import { grantsContract } from './metadata-grants-contract.js';
import { movesContract } from './metadata-moves-contract.js';
import { nodesContract } from './metadata-nodes-contract.js';
import { optionsContract } from './metadata-options-contract.js';
import { usersContract } from './metadata-users-contract.js';
import { viewsContract } from './metadata-views-contract.js';
import { segmentsContract } from './metadata-segments-contract.js';

const call = ownCall('test');
const EPOCH_1 = 1n << 40n;

/** Contract of every implementation of the metadata service, with or without a transport in between. */
export function metadataContract(name: string, start: StartMetadata): void {
  nodesContract(name, start);
  folderContract(name, start);
  grantsContract(name, start);
  movesContract(name, start);
  segmentsContract(name, start);
  optionsContract(name, start);
  usersContract(name, start);
  viewsContract(name, start);

  describe(`metadata service, ${name}`, () => {
    let metadata: MetadataUnderTest;
    let service: MetadataService;

    beforeEach(async () => {
      metadata = await start(systemClock);
      ({ service } = metadata);
      await service.registerNode({ role: 'standalone', addr: '', slot: '0', version: 'test', ...NO_FOLDER }, call);
    });

    afterEach(() => metadata.stop());

    function create(table: string, columns: readonly ColumnSpec[] = [HOST, TIME]): Promise<Table> {
      const request = { database: 'public', name: table, columns, options: {}, ifNotExists: false, regions: 0 };
      return service.createTable({ ...request, primaryKey: ['host'] }, call).then((answer) => known(answer.table));
    }

    async function ensure(table: string, columns: readonly ColumnSpec[], isMade = true): Promise<Table> {
      const request = { database: 'public', tables: [{ name: table, columns, options: {} }], create: isMade };
      return (await service.ensureTables(request, call)).tables[0];
    }

    function find(table: string): Promise<Table> {
      return service.getTable({ database: 'public', name: table, tableId: 0 }, call);
    }

    function drop(table: string): Promise<unknown> {
      return service.dropTable({ database: 'public', name: table, ifExists: false }, call);
    }

    function commit(table: Table, from: bigint, to: bigint, segments: readonly Segment[]) {
      const [{ regionId, epoch }] = table.regions;
      const request = { regionId, epoch, watermarkFrom: from, watermarkTo: to, segments, seriesFiles: [] };
      return service.commitSegments(request, call);
    }

    describe('databases', () => {
      function make(database: string, ifNotExists = false) {
        return service.createDatabase({ name: database, options: { ttl: '7d' }, ifNotExists }, call);
      }

      async function names(): Promise<string[]> {
        return (await service.listDatabases({}, call)).databases.map((database) => database.name);
      }

      it('starts with a default database, which cannot be dropped', async () => {
        expect(await names()).to.deep.equal(['public']);
        const dropping = service.dropDatabase({ name: 'public', ifExists: false }, call);
        expect(await failureCode(dropping)).to.equal('unsupported');
      });

      it('creates a database with its options, once', async () => {
        const made = await make('db');
        expect(made.created).to.equal(true);
        expect(made.database?.options).to.deep.equal({ ttl: '7d' });
        expect(await failureCode(make('db'))).to.equal('database_already_exists');
        expect((await make('db', true)).created).to.equal(false);
        expect(await names()).to.deep.equal(['db', 'public']);
      });

      it('refuses an invalid name', async () => {
        const error = await failure(make('1 db'));
        expect(error.message).to.equal('Unexpected, violated: Invalid database name: 1 db');
      });

      it('drops a database with all its tables', async () => {
        await make('db');
        const tables = [{ name: 'a', columns: [TIME], options: {} }];
        await service.ensureTables({ database: 'db', tables, create: true }, call);
        const [table] = (await service.listTables({ database: 'db' }, call)).tables;
        const dropped = await service.dropDatabase({ name: 'db', ifExists: false }, call);
        expect(dropped.dropped).to.equal(true);
        expect(dropped.tables).to.deep.equal([{ tableId: table.tableId, name: 'a', regions: table.regions }]);
        expect(await failureCode(service.listTables({ database: 'db' }, call))).to.equal('database_not_found');
        expect((await service.dropDatabase({ name: 'db', ifExists: true }, call)).dropped).to.equal(false);
        const again = service.dropDatabase({ name: 'db', ifExists: false }, call);
        expect(await failureCode(again)).to.equal('database_not_found');
      });
    });

    describe('tables', () => {
      it('creates a table with ids for columns, and a region that a node owns', async () => {
        const table = await create('cpu', [HOST, column('load', 'Float64', 'field'), TIME]);
        expect(table.columns.map((it) => [it.id, it.name, it.kind])).to.deep.equal([
          [1, 'host', 'tag'],
          [2, 'load', 'field'],
          [3, 'ts', 'time'],
        ]);
        expect(table.regions.map((it) => [it.index, it.epoch, it.nodeId])).to.deep.equal([[0, 1, 1]]);
        expect(await find('cpu')).to.deep.equal(table);
        expect((await service.listTables({ database: 'public' }, call)).tables).to.deep.equal([table]);
      });

      it('names the missing table', async () => {
        const error = await failure(find('nope'));
        expect([error.code, error.message]).to.deep.equal(['table_not_found', 'Table not found: public.nope']);
        const elsewhere = service.getTable({ database: 'db', name: 'nope', tableId: 0 }, call);
        expect(await failureCode(elsewhere)).to.equal('database_not_found');
      });

      it('refuses a second table of the same name', async () => {
        await create('cpu');
        expect(await failureCode(create('cpu'))).to.equal('table_already_exists');
      });

      it('refuses an invalid table', async () => {
        const refused = async (columns: readonly ColumnSpec[]): Promise<string> => failureCode(create('t', columns));
        expect(await refused([HOST])).to.equal('invalid_arguments');
        expect(await refused([TIME, { ...TIME, name: 'ts2' }])).to.equal('invalid_arguments');
        expect(await refused([column('ts', 'Int64', 'time')])).to.equal('invalid_arguments');
        expect(await refused([HOST, HOST, TIME])).to.equal('invalid_arguments');
        expect(await refused([column('__sid', 'Int64', 'field'), TIME])).to.equal('invalid_arguments');
        expect(await refused([column('x'.repeat(256), 'Int64', 'field'), TIME])).to.equal('invalid_arguments');
        expect(await refused([column('x', 'Nothing', 'field'), TIME])).to.equal('unsupported');
        expect(await failureCode(create(''))).to.equal('invalid_arguments');
        expect((await service.listTables({ database: 'public' }, call)).tables).to.deep.equal([]);
      });

      it('accepts 4,096 columns and no more', async () => {
        const fields = Array.from({ length: 4095 }, (_, i) => column(`f${i}`, 'Int64', 'field'));
        await create('most', [...fields, TIME]);
        const over = ensure('most', [column('one_more', 'Int64', 'field'), TIME]);
        expect((await failure(over)).message).to.equal('a table has at most 4096 columns, not 4097');
      });

      it('reports how many label names metrics may have, and what to do', async () => {
        const labels = (from: number, to: number): EnsureTable => {
          const tags = Array.from({ length: to - from }, (_, i) => column(`l${from + i}`, 'String', 'tag'));
          const value = column('value', 'Float64', 'field');
          return { name: 'metrics', columns: [...tags, value, TIME], options: { physical_metric_table: 'true' } };
        };
        const text = (count: number): string =>
          `the metrics of database "public" would have ${count} label names, but its table "metrics" holds 4094 at most ` +
          '(4096 columns): drop labels by relabelling, or write to another database (db) or another physical table ' +
          '(physical_table)';
        const write = (table: EnsureTable): Promise<unknown> =>
          service.ensureTables({ database: 'public', tables: [table], create: true }, call);
        expect((await failure(write(labels(0, 5000)))).message).to.equal(text(5000));
        await write(labels(0, 4094));
        expect((await failure(write(labels(4000, 4100)))).message).to.equal(text(4100));
      });

      it('assigns new ids to a table that is created again', async () => {
        const first = await create('cpu');
        await drop('cpu');
        expect(await failureCode(find('cpu'))).to.equal('table_not_found');
        expect(await failureCode(drop('cpu'))).to.equal('table_not_found');
        const second = await create('cpu');
        expect(second.tableId).to.be.greaterThan(first.tableId);
        expect(second.regions[0].regionId).to.be.greaterThan(first.regions[0].regionId);
        const byOldId = service.getTable({ database: '', name: '', tableId: first.tableId }, call);
        expect(await failureCode(byOldId)).to.equal('table_not_found');
      });

      it('grants regions without an owner to the first ready node', async () => {
        await metadata.stop();
        metadata = await start(systemClock);
        ({ service } = metadata);
        const orphan = await create('cpu');
        expect(orphan.regions[0]).to.include({ epoch: 0, nodeId: 0 });
        const node = { role: 'ingester', addr: 'a:1', slot: '0', version: 'test', ...NO_FOLDER };
        const { nodeId } = await service.registerNode(node, call);
        expect((await find('cpu')).regions[0]).to.include({ epoch: 0, nodeId: 0 });
        await service.heartbeat({ nodeId, state: 'ready' }, call);
        expect((await find('cpu')).regions[0]).to.include({ epoch: 1, nodeId });
        expect((await service.registerNode(node, call)).nodeId).to.equal(nodeId);
        const grants = await service.listGrants({ nodeId }, call);
        expect(grants.regionIds).to.deep.equal([orphan.regions[0].regionId]);
        expect(grants.watermarks).to.deep.equal([EPOCH_1]);
      });
    });

    describe('ensureTables', () => {
      const VALUE = column('value', 'Float64', 'field');

      it('creates a table with tags as its primary key, and does nothing the second time', async () => {
        const made = await ensure('cpu', [HOST, VALUE, TIME]);
        expect(made.primaryKey).to.deep.equal(['host']);
        expect(await ensure('cpu', [HOST, VALUE, TIME])).to.deep.equal(made);
      });

      it('adds missing columns at the end, nullable, and keeps existing ones: the first type wins', async () => {
        await ensure('cpu', [HOST, VALUE, TIME]);
        const text = { ...column('value', 'String', 'field') };
        const wider = await ensure('cpu', [text, { ...column('dc', 'String', 'tag'), nullable: false }, TIME]);
        expect(wider.schemaVersion).to.equal(2);
        expect(wider.primaryKey).to.deep.equal(['host', 'dc']);
        expect(wider.columns.map((it) => [it.name, it.type, it.nullable])).to.deep.equal([
          ['host', 'String', true],
          ['value', 'Float64', true],
          ['ts', 'TimestampMillisecond', false],
          ['dc', 'String', true],
        ]);
      });

      it('returns the same table to concurrent callers', async () => {
        const tables = await Promise.all(
          Array.from({ length: 20 }, (_, i) => ensure('cpu', [column(`f${i % 5}`, 'Int64', 'field'), TIME])),
        );
        expect(new Set(tables.map((table) => table.tableId)).size).to.equal(1);
        expect((await find('cpu')).columns.map((it) => it.name).sort()).to.deep.equal([
          'f0',
          'f1',
          'f2',
          'f3',
          'f4',
          'ts',
        ]);
      });

      it('refuses columns that differ only by letter case, and then changes nothing', async () => {
        await ensure('cpu', [column('Load', 'Float64', 'field'), TIME]);
        const tables = [
          { name: 'other', columns: [TIME], options: {} },
          { name: 'cpu', columns: [column('load', 'Float64', 'field'), TIME], options: {} },
        ];
        const error = await failure(service.ensureTables({ database: 'public', tables, create: true }, call));
        expect(error.message).to.equal('columns "Load" and "load" differ only by letter case');
        expect(await failureCode(find('other'))).to.equal('table_not_found');
      });

      it('adds columns even if creating tables is disabled', async () => {
        const error = await failure(ensure('cpu', [TIME], false));
        expect(error.message).to.equal('Table `cpu` does not exist, and `auto_create_table` hint is disabled');
        await create('cpu');
        expect((await ensure('cpu', [VALUE, TIME], false)).columns).to.have.length(3);
      });
    });

    describe('the manifest', () => {
      const W = EPOCH_1;

      it('starts empty, at the first sequence of the epoch', async () => {
        const [{ regionId }] = (await create('cpu')).regions;
        const manifest = await service.getManifest({ regionId }, call);
        expect(manifest).to.deep.include({ epoch: 1, watermark: W, truncatedSequence: 0n, segments: [] });
        expect(await failureCode(service.getManifest({ regionId: 999 }, call))).to.equal('region_not_found');
      });

      it('adds segments and advances the watermark', async () => {
        const table = await create('cpu');
        const committed = await commit(table, W, W + 10n, [segment('a', W, W + 10n)]);
        expect(committed.watermark).to.equal(W + 10n);
        expect(committed.segments).to.deep.equal([segment('a', W, W + 10n)]);
        expect(await service.getManifest({ regionId: committed.regionId }, call)).to.deep.equal(committed);
      });

      it('accepts a repeated commit', async () => {
        const table = await create('cpu');
        const first = await commit(table, W, W + 10n, [segment('a', W, W + 10n)]);
        expect(await commit(table, W, W + 10n, [segment('a', W, W + 10n)])).to.deep.equal(first);
      });

      it('refuses a commit from another watermark, and returns the present one', async () => {
        const table = await create('cpu');
        await commit(table, W, W + 10n, [segment('a', W, W + 10n)]);
        const error = await failure(commit(table, W, W + 5n, [segment('b', W, W + 5n)]));
        expect([error.code, error.details['watermark']]).to.deep.equal(['illegal_state', String(W + 10n)]);
      });

      it('refuses a commit under a grant that is not open', async () => {
        const table = await create('cpu');
        const regions = [{ ...table.regions[0], epoch: 2 }];
        const late = commit({ ...table, regions }, W, W + 1n, [segment('a', W, W + 1n)]);
        expect(await failureCode(late)).to.equal('illegal_state');
      });

      it('accepts one of two commits from the same watermark', async () => {
        const table = await create('cpu');
        const outcomes = await Promise.allSettled([
          commit(table, W, W + 10n, [segment('a', W, W + 10n)]),
          commit(table, W, W + 12n, [segment('b', W, W + 12n)]),
        ]);
        expect(outcomes.map((it) => it.status).sort()).to.deep.equal(['fulfilled', 'rejected']);
        const manifest = await service.getManifest({ regionId: table.regions[0].regionId }, call);
        expect(manifest.segments).to.have.length(1);
      });

      it('hides rows up to a point, and refuses a point within a segment or above the watermark', async () => {
        const table = await create('cpu');
        const [{ regionId }] = table.regions;
        await commit(table, W, W + 10n, [segment('a', W, W + 10n)]);
        await commit(table, W + 10n, W + 20n, [segment('b', W + 10n, W + 20n)]);
        const truncate = (sequence: bigint) =>
          service.truncateTable({ tableId: table.tableId, points: [{ regionId, sequence }] }, call);
        expect(await failureCode(truncate(W + 5n))).to.equal('illegal_state');
        expect(await failureCode(truncate(W + 21n))).to.equal('illegal_state');
        const { regions } = await truncate(W + 10n);
        expect(regions[0].truncatedSequence).to.equal(W + 10n);
        expect(regions[0].segments.map((it) => it.path)).to.deep.equal(['b']);
      });

      it('lists files that are in no manifest until their records are deleted', async () => {
        const table = await create('cpu');
        await commit(table, W, W + 10n, [segment('a', W, W + 10n)]);
        const garbage = async (removedBeforeMs: number): Promise<readonly string[]> => {
          return (await service.listGarbage({ removedBeforeMs, limit: 10 }, call)).paths;
        };
        expect(await garbage(Number.MAX_SAFE_INTEGER)).to.deep.equal([]);
        await drop('cpu');
        expect(await garbage(0)).to.deep.equal([]);
        expect(await garbage(Number.MAX_SAFE_INTEGER)).to.deep.equal(['a']);
        await service.forgetGarbage({ paths: ['a'] }, call);
        expect(await garbage(Number.MAX_SAFE_INTEGER)).to.deep.equal([]);
      });
    });

    describe('watch', () => {
      it('returns each change once, in order, from a version on', async () => {
        const { catalogVersion } = await service.listDatabases({}, call);
        const table = await create('cpu');
        const watching = watch(service, catalogVersion);
        expect((await watching.next()).table).to.deep.equal(table);
        const W = EPOCH_1;
        const manifest = await commit(table, W, W + 1n, [segment('a', W, W + 1n)]);
        await drop('cpu');
        const changed = await watching.next();
        const dropped = await watching.next();
        expect(changed.manifest).to.deep.equal(manifest);
        expect(dropped).to.include({ kind: 'table_dropped', droppedTableName: 'cpu', droppedTableId: table.tableId });
        expect(dropped.droppedRegionIds).to.deep.equal([table.regions[0].regionId]);
        expect(dropped.catalogVersion > changed.catalogVersion).to.equal(true);
        await watching.end();
      });

      it('resumes after the last version that was seen', async () => {
        const { catalogVersion } = await service.listDatabases({}, call);
        await create('a');
        const first = watch(service, catalogVersion);
        const seen = (await first.next()).catalogVersion;
        await first.end();
        await create('b');
        const second = watch(service, seen);
        expect((await second.next()).table?.name).to.equal('b');
        await second.end();
      });

      it('sends the whole state to a new watcher, then changes', async () => {
        await create('a');
        const watching = watch(service, 0n);
        const kinds: string[] = [];
        for (let i = 0; i < 5; i++) kinds.push((await watching.next()).kind);
        expect(kinds).to.deep.equal(['state_begin', 'node_changed', 'database_created', 'table_changed', 'state_end']);
        await create('b');
        expect((await watching.next()).table?.name).to.equal('b');
        await watching.end();
      });

      it('sends the whole state to a watcher whose version is not in its history, or in the future', async () => {
        await create('a');
        const { catalogVersion } = await service.listDatabases({}, call);
        service = await metadata.restart();
        for (const version of [catalogVersion - 1n, catalogVersion + 1000n]) {
          const watching = watch(service, version);
          expect((await watching.next()).kind).to.equal('state_begin');
          await watching.end();
        }
        const current = watch(service, catalogVersion);
        await create('b');
        expect((await current.next()).table?.name).to.equal('b');
        await current.end();
      });

      it('sends nothing of a change that failed', async () => {
        const { catalogVersion } = await service.listDatabases({}, call);
        await failure(ensure('bad', [column('', 'Int64', 'field'), TIME]));
        expect((await service.listDatabases({}, call)).catalogVersion).to.equal(catalogVersion);
        await create('good');
        const watching = watch(service, catalogVersion);
        expect((await watching.next()).table?.name).to.equal('good');
        await watching.end();
      });

      it('ends when its caller cancels, and when the service stops', async () => {
        const { catalogVersion } = await service.listDatabases({}, call);
        const cancelled = watch(service, catalogVersion);
        expect(await failureCode(Promise.all([cancelled.next(), cancelled.end()]))).to.equal('cancelled');
        const stopped = watch(service, catalogVersion);
        expect(await failureCode(Promise.all([stopped.next(), metadata.stop()]))).to.equal('external');
      });
    });

    describe('a restart', () => {
      it('keeps everything', async () => {
        await service.createDatabase({ name: 'db', options: { ttl: '1d' }, ifNotExists: false }, call);
        const table = await create('cpu', [HOST, column('load', 'Float64', 'field'), TIME]);
        const manifest = await commit(table, EPOCH_1, EPOCH_1 + 1n, [segment('a', EPOCH_1, EPOCH_1 + 1n)]);
        const before = await service.listDatabases({}, call);
        service = await metadata.restart();
        expect(await service.listDatabases({}, call)).to.deep.equal(before);
        expect(await find('cpu')).to.deep.equal(table);
        expect(await service.getManifest({ regionId: manifest.regionId }, call)).to.deep.equal(manifest);
        expect((await service.listNodes({}, call)).nodes.map((node) => node.role)).to.deep.equal(['standalone']);
      });
    });

    it('does nothing for a cancelled call', async () => {
      const signal = AbortSignal.abort(new AlmanacError('deadline_exceeded', 'too late'));
      const late = service.createDatabase({ name: 'db', options: {}, ifNotExists: false }, ownCall('test', signal));
      expect(await failureCode(late)).to.equal('deadline_exceeded');
      expect((await service.listDatabases({}, call)).databases).to.have.length(1);
    });
  });
}
