import { expect } from 'chai';

import type { Table } from '#shared/contracts/gen/common';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { failureCode } from '#test/support/failure';
import { CALL, StorageRig, type RigRow, type Transport } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

for (const transport of ['direct', 'grpc'] as const) {
  describe(`tables with schema changes, ${transport}`, () => suite(transport));
}

function suite(transport: Transport): void {
  let cleanUps: (() => void)[] = [];
  let rigs: StorageRig[] = [];
  afterEach(async () => {
    for (const rig of rigs) await rig.stop();
    for (const cleanUp of cleanUps) cleanUp();
    rigs = [];
    cleanUps = [];
  });

  async function start(folder = tempFolder((cleanUp) => cleanUps.push(cleanUp))): Promise<StorageRig> {
    const rig = await StorageRig.start(folder, { transport });
    rigs.push(rig);
    return rig;
  }

  /** Starts on the data that a crash at this moment would leave. */
  async function afterCrash(rig: StorageRig): Promise<StorageRig> {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    rig.crashImage(folder);
    return start(folder);
  }

  it('shows new columns to queries by the new schema', async () => {
    const rig = await start();
    const older = await narrowTable(rig.metadata.service);
    const newer = await rig.table('t');
    const rows: RigRow[] = [{ host: 'x', time: 1n, a: 1, s: 'text' }];
    await rig.write(newer, rows);
    expect(await rig.count(older)).to.equal(1);
    expect(await rig.rows(newer)).to.deep.equal(rows);
  });

  it('returns rows of the old and the new type of a field to queries by the new schema only', async () => {
    let rig = await start();
    const older = await rig.table('t');
    await rig.write(older, [{ host: 'v', time: 1n, a: 1 }]);
    await rig.flush(older);
    await rig.write(older, [{ host: 'w', time: 1n, a: 2 }]);
    const newer = await withDoubles(older, rig.metadata.service);
    await rig.write(newer, [{ host: 'x', time: 1n, a: 3.5 }]);
    await rig.write(older, [{ host: 'y', time: 1n, a: 4 }]);
    await rig.write(newer, [{ host: 'z', time: 1n, a: 5.5 }]);
    rig = await afterCrash(rig);
    for (const flush of [true, false]) {
      expect((await rig.rows(newer)).map(({ a }) => a)).to.deep.equal([1, 2, 3.5, 4, 5.5]);
      expect(await failureCode(rig.rows(older))).to.equal('region_not_ready');
      if (flush) await rig.flush(newer);
    }
    await rig.compact(newer);
    expect((await rig.rows(newer)).map(({ a }) => a)).to.deep.equal([1, 2, 3.5, 4, 5.5]);
  });

  /** Runs ALTER TABLE .. MODIFY COLUMN a DOUBLE. */
  async function withDoubles(table: Table, service: MetadataService): Promise<Table> {
    const columns = table.columns.map((column) => (column.name === 'a' ? { ...column, type: 'Float64' } : column));
    const { table: altered } = await service.alterTable({ ...table, columns }, CALL);
    if (altered === undefined) throw new Error('the table was not altered');
    return altered;
  }

  /** Creates the rig's table without its field `s`. */
  async function narrowTable(service: MetadataService): Promise<Table> {
    const column = (name: string, type: string, kind: string) => {
      return { name, type, kind, nullable: kind !== 'time', defaultSql: '', comment: '', indexes: [] };
    };
    const columns = [
      column('host', 'String', 'tag'),
      column('a', 'Int64', 'field'),
      column('time', 'TimestampNanosecond', 'time'),
    ];
    const request = { database: 'public', tables: [{ name: 't', columns, options: {} }], create: true };
    return (await service.ensureTables(request, CALL)).tables[0];
  }
}
