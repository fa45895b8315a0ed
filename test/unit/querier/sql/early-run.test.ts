import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import { QueryConnections, type QueryConnection } from '#shared/duckdb/query-connection';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import { beginEarly, slotAfter, takenAfter, type EarlyRun } from '#services/querier/sql/run/early-run';
import type { BindRequest } from '#services/querier/snapshot/binding';
import type { Snapshot, Snapshots } from '#services/querier/snapshot/snapshots';
import { refusal } from '#test/support/failure';

/** Runs longer than any test. */
const ENDLESS = 'SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b';

describe('early run of a query', () => {
  let connections: QueryConnections;
  let connection: QueryConnection;
  let released: Snapshot[];

  beforeEach(async () => {
    connections = new QueryConnections(await DuckDBInstance.create(':memory:'));
    connection = await connections.take();
    released = [];
  });
  afterEach(() => {
    connection.close();
    connections.close();
  });

  function snapshotOf(relation: string): Snapshot {
    const snapshot: Snapshot = {
      relations: () => Promise.resolve([relation]),
      emptyRelations: [relation],
      sources: [],
      reads: [],
      sequences: new Map(),
      mayRepeat: false,
      reasonOf: (thrown) => Promise.resolve(thrown),
      release: () => void released.push(snapshot),
    };
    return snapshot;
  }

  function begin(guess: Snapshot | undefined, call = ownCall('test')): Promise<EarlyRun | undefined> {
    const snapshots: Snapshots = {
      takeNow: () => undefined,
      versionsNow: () => undefined,
      guess: () => Promise.resolve(guess),
      take: () => Promise.reject(new AlmanacError('unsupported', 'not part of this test')),
      overlappingRows: () => Promise.reject(new AlmanacError('unsupported', 'not part of this test')),
    };
    const requests = [{} as BindRequest];
    return beginEarly({
      snapshots,
      requests,
      connection,
      call,
      sqlOf: async (guessed) => (await guessed.relations())[0],
    });
  }

  async function firstCell(): Promise<unknown> {
    const result = await connection.run('SELECT 42', new AbortController().signal);
    return [...result.blocks()][0].cells(0)[0];
  }

  it('does not start without a guess', async () => {
    expect(await begin(undefined)).to.equal(undefined);
  });

  it('returns its result when the guess was right', async () => {
    const guess = snapshotOf('SELECT 7');
    const early = await begin(guess);
    expect(await takenAfter(early, Promise.resolve(guess))).to.equal(guess);
    const result = await early?.result;
    expect([...(result?.blocks() ?? [])][0].cells(0)[0]).to.equal(7);
    expect(released).to.deep.equal([]);
  });

  it('is cancelled when the guess was wrong, and its failure is ignored', async () => {
    for (const sql of [ENDLESS, 'SELECT * FROM not_there']) {
      const guess = snapshotOf(sql);
      const right = snapshotOf('SELECT 1');
      expect(await takenAfter(await begin(guess), Promise.resolve(right))).to.equal(right);
      expect(released).to.deep.equal([guess]);
      expect(await firstCell()).to.equal(42);
      released = [];
    }
  });

  it('is cancelled when no snapshot is available', async () => {
    const guess = snapshotOf(ENDLESS);
    const error = new AlmanacError('region_not_ready', 'moved');
    expect(await refusal(takenAfter(await begin(guess), Promise.reject(error)))).to.equal(error);
    expect(released).to.deep.equal([guess]);
    expect(await firstCell()).to.equal(42);
  });

  it('keeps its admission slot while it runs, and releases it for the wait after that', async () => {
    const early = await begin(snapshotOf(ENDLESS));
    let isReleased = false;
    const slot: AdmissionSlot = { releaseWhile: (work) => ((isReleased = true), work()) };
    let answer: (text: string) => void = () => undefined;
    const answered = new Promise<string>((resolve) => (answer = resolve));
    const waiting = slotAfter(early, slot).releaseWhile(() => answered);
    await systemClock.yield();
    expect(isReleased).to.equal(false);
    await early?.end();
    await systemClock.yield();
    expect(isReleased).to.equal(true);
    answer('there');
    expect(await waiting).to.equal('there');
  });

  it('releases its admission slot from the start when nothing runs early', () => {
    const slot: AdmissionSlot = { releaseWhile: (work) => work() };
    expect(slotAfter(undefined, slot)).to.equal(slot);
  });

  it("ends with its caller, with the caller's reason", async () => {
    const caller = new AbortController();
    const guess = snapshotOf(ENDLESS);
    const early = await begin(guess, ownCall('test', caller.signal));
    expect(await takenAfter(early, Promise.resolve(guess))).to.equal(guess);
    caller.abort(new AlmanacError('rate_limited', 'enough'));
    expect((await refusal(early?.result ?? Promise.resolve()))?.code).to.equal('rate_limited');
    expect(await firstCell()).to.equal(42);
  });
});
