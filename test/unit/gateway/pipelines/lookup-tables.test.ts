import { expect } from 'chai';

import { LookupTables, type LookupRows, type LookupSpec } from '#services/gateway/pipelines/lookup-tables';
import { ownCall } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';
import { ManualClock } from '#test/support/manual-clock';
import { pipelineResources, TestPipeline } from '#test/support/pipeline-item';

const SPEC: LookupSpec = { database: 'public', table: 'hosts', keys: ['host'], added: ['team'], refreshMs: 60_000 };
const CALL = ownCall('test');

interface Load {
  readonly resolve: (rows: LookupRows) => void;
  readonly reject: (error: Error) => void;
}

/** A source whose loads end when the test says so. */
class Rig {
  readonly clock = new ManualClock();
  readonly failures: string[] = [];
  readonly loads: Load[] = [];
  readonly tables = new LookupTables({
    source: () => new Promise((resolve, reject) => void this.loads.push({ resolve, reject })),
    clock: this.clock,
    refreshFailed: (table, error) => void this.failures.push(`${table}: ${error.message}`),
  });
}

/** Resolves when all promises that can continue have done so. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function rows(team: string, bytes = 100): LookupRows {
  return { byKey: new Map([['a', [team]]]), bytes };
}

describe('lookup tables', () => {
  it('share the first load, for which requests wait', async () => {
    const rig = new Rig();
    const table = rig.tables.table(SPEC);
    expect(rig.tables.table({ ...SPEC })).to.equal(table);
    const waiting = [table.prepare(CALL), table.prepare(CALL)];
    expect(rig.loads).to.have.length(1);
    rig.loads[0].resolve(rows('web'));
    await Promise.all(waiting);
    expect(table.find('a')).to.deep.equal(['web']);
    expect(table.find('b')).to.equal(undefined);
  });

  it('serve the old rows while newer ones are read, and after a failure', async () => {
    const rig = new Rig();
    const table = rig.tables.table(SPEC);
    const first = table.prepare(CALL);
    rig.loads[0].resolve(rows('old'));
    await first;
    await rig.clock.advance(59_999);
    await table.prepare(CALL);
    expect(rig.loads).to.have.length(1);
    await rig.clock.advance(1);
    await table.prepare(CALL);
    await table.prepare(CALL);
    expect(rig.loads).to.have.length(2);
    expect(table.find('a')).to.deep.equal(['old']);
    expect([...rig.tables.ages()]).to.deep.equal([['public.hosts', 60]]);
    rig.loads[1].reject(new AlmanacError('external', 'no querier'));
    await settled();
    expect(rig.failures).to.deep.equal(['public.hosts: no querier']);
    expect(table.find('a')).to.deep.equal(['old']);
    await rig.clock.advance(60_000);
    await table.prepare(CALL);
    rig.loads[2].resolve(rows('new'));
    await settled();
    expect(table.find('a')).to.deep.equal(['new']);
  });

  it('fail requests while the first load fails, and try again', async () => {
    const rig = new Rig();
    const table = rig.tables.table(SPEC);
    const first = table.prepare(CALL).catch((error: unknown) => (error as Error).message);
    rig.loads[0].reject(new AlmanacError('table_not_found', 'no table'));
    expect(await first).to.equal('no table');
    const second = table.prepare(CALL);
    rig.loads[1].resolve(rows('web'));
    await second;
    expect(table.find('a')).to.deep.equal(['web']);
  });

  it('use bounded memory', async () => {
    const rig = new Rig();
    const load = async (name: string): Promise<ReturnType<LookupTables['table']>> => {
      const table = rig.tables.table({ ...SPEC, table: name });
      const loaded = table.prepare(CALL);
      rig.loads.at(-1)?.resolve(rows(name, 60 * 1024 * 1024));
      await loaded;
      return table;
    };
    const [first, ...others] = [
      await load('t0'),
      await load('t1'),
      await load('t2'),
      await load('t3'),
      await load('t4'),
    ];
    expect(() => first.find('a')).to.throw('removed from memory');
    for (const table of others) expect(table.find('a')).to.have.length(1);
  });

  it('add values to a million items a minute from 100,000 rows', async () => {
    const rig = new Rig();
    const pipeline = new TestPipeline(
      '- lookup: {from: hosts, on: {host: host}, add: [team]}',
      pipelineResources({ lookups: rig.tables }),
    );
    const loaded = rig.tables.table(SPEC).prepare(CALL);
    rig.loads[0].resolve({ byKey: new Map(Array.from({ length: 100_000 }, (_, i) => [`h${i}`, [`t${i}`]])), bytes: 1 });
    await loaded;
    const item = pipeline.item('{"host":""}');
    const slot = item.slots.slotOf('host');
    const startMs = performance.now();
    for (let i = 0; i < 100_000; i++) {
      item.setText(slot, `h${i}`);
      pipeline.runItem(item);
    }
    expect(item.text(item.slots.slotOf('team'))).to.equal('t99999');
    expect(performance.now() - startMs).to.be.lessThan(6_000);
  });
});
