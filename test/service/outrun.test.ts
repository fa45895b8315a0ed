import { expect } from 'chai';

import type { Table } from '#shared/contracts/gen/common';
import { isOutrun } from '#shared/write/outrun';
import { refusal } from '#test/support/failure';
import { CALL, StorageRig, type RigRow, type Transport } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

for (const transport of ['direct', 'grpc'] as const) {
  describe(`deletions and concurrent writes, ${transport}`, () => outrunSuite(transport));
}

function outrunSuite(transport: Transport): void {
  let cleanUps: (() => void)[] = [];
  let rig: StorageRig;
  let table: Table;

  beforeEach(async () => {
    rig = await StorageRig.start(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      { transport },
    );
    table = await rig.table('t');
  });

  afterEach(async () => {
    await rig.stop();
    for (const cleanUp of cleanUps) cleanUp();
    cleanUps = [];
  });

  /** Sends a deletion that was decided on when the table was read up to `asOf`. */
  async function deletes(rows: readonly RigRow[], asOf: bigint): Promise<boolean> {
    const gone = rows.map(({ host, time }) => ({ host, time, isDeleted: true }));
    const refused = await refusal(rig.ingester.service.write(rig.request(table, gone, { asOf }), CALL));
    if (refused === undefined) return true;
    expect(refused.code).to.equal('illegal_state');
    expect(isOutrun(refused)).to.equal(true);
    return false;
  }

  async function sequence(): Promise<bigint> {
    return [...(await rig.sequences(table)).values()][0];
  }

  const x = { host: 'x', time: 5n, a: 1 };
  const y = { host: 'y', time: 5n, a: 1 };

  it('are accepted if nothing was written, also again', async () => {
    await rig.write(table, [x, y]);
    const asOf = await sequence();
    expect(await deletes([x], asOf)).to.equal(true);
    expect(await deletes([x], asOf), 'twice').to.equal(true);
    expect(await rig.rows(table)).to.deep.equal([y]);
  });

  it('are accepted if other rows were written', async () => {
    await rig.write(table, [x]);
    const asOf = await sequence();
    await rig.write(table, [{ ...x, time: 6n }, y]);
    expect(await deletes([x], asOf)).to.equal(true);
    expect(await rig.rows(table)).to.deep.equal([{ ...x, time: 6n }, y]);
  });

  it('are refused if one of their rows was written, and change nothing', async () => {
    await rig.write(table, [x, y]);
    const asOf = await sequence();
    await rig.write(table, [{ ...y, a: 2 }]);
    expect(await deletes([x, y], asOf)).to.equal(false);
    expect(await rig.rows(table)).to.deep.equal([x, { ...y, a: 2 }]);
  });

  it('are refused if one of their rows is on its way to the log', async () => {
    await rig.write(table, [x]);
    const asOf = await sequence();
    const writing = rig.write(table, [{ ...x, a: 2 }]);
    expect(await deletes([x], asOf)).to.equal(false);
    await writing;
    expect(await rig.rows(table)).to.deep.equal([{ ...x, a: 2 }]);
  });

  it('are refused if the schema has changed, as rows that were read may have had one more tag', async () => {
    await rig.write(table, [x]);
    const asOf = await sequence();
    const zone = {
      name: 'zone',
      type: 'String',
      kind: 'tag',
      nullable: true,
      defaultSql: '',
      comment: '',
      indexes: [],
    };
    const wider = { name: 't', columns: [...table.columns, zone], options: table.options };
    const request = { database: 'public', tables: [wider], create: false };
    const [now] = (await rig.metadata.service.ensureTables(request, CALL)).tables;
    await rig.write(now, [y]);
    expect(await deletes([x], asOf)).to.equal(false);
    table = now;
    expect(await deletes([x], asOf)).to.equal(true);
    expect(await rig.rows(table)).to.deep.equal([y]);
  });

  it('are refused with anything else in their batch', async () => {
    await rig.write(table, [x]);
    const mixed = [
      [{ ...x, isDeleted: true }],
      [{ host: 'x', time: 5n, isDeleted: true }, y],
      [
        { host: 'x', time: 5n, isDeleted: true },
        { host: 'x', time: 6n },
      ],
    ];
    for (const rows of mixed) {
      const refused = await refusal(rig.ingester.service.write(rig.request(table, rows), CALL));
      expect(refused?.code).to.equal('invalid_arguments');
    }
    const many = Array.from({ length: 50_001 }, (_, i) => ({ host: 'x', time: BigInt(i), isDeleted: true }));
    const refused = await refusal(rig.ingester.service.write(rig.request(table, many), CALL));
    expect(refused?.code).to.equal('invalid_arguments');
    expect(await rig.rows(table)).to.deep.equal([x]);
  });

  it('are refused if concurrently written rows are in segments, and after a restart', async () => {
    await rig.write(table, [x]);
    const asOf = await sequence();
    await rig.write(table, [y]);
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    rig.crashImage(folder);
    expect(await deletes([y], asOf)).to.equal(false);
    await rig.flush(table);
    expect(await deletes([y], asOf)).to.equal(false);
    await rig.stop();
    rig = await StorageRig.start(folder, { transport });
    table = await rig.table('t');
    expect(await deletes([y], asOf)).to.equal(false);
    expect(await deletes([x], asOf)).to.equal(true);
    expect(await rig.rows(table)).to.deep.equal([y]);
  });
}
