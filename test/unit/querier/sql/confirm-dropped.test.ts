import { expect } from 'chai';

import { confirmDropped } from '#services/querier/sql/statements/tables/confirm-dropped';
import { systemClock } from '#shared/clock/clock';
import { ownCall, type Call } from '#shared/contracts/call';
import type { DroppedTable } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { RefusedError, UnansweredError } from '#shared/grpc/call-errors';
import type { StatementDeps } from '#services/querier/sql/statement';
import { failure } from '#test/support/failure';
import { ManualClock } from '#test/support/manual-clock';
import { partialIngester } from '#test/support/partial-ingester';

type Answer = 'ok' | AlmanacError;

const REFUSED = new RefusedError('refused');
const LOST = new UnansweredError('lost');

describe('confirmDropped', () => {
  let clock: ManualClock;
  /** Response of each node to all requests. */
  let answers: Map<number, Answer>;
  let away: Set<number>;
  let requests: { nodeId: number; tableIds: readonly number[] }[];
  let reached: bigint[];

  beforeEach(() => {
    clock = new ManualClock();
    answers = new Map();
    away = new Set();
    requests = [];
    reached = [];
  });

  function confirm(tables: readonly DroppedTable[], call: Call = ownCall('test')): Promise<number[]> {
    const catalog: Pick<StatementDeps['catalog'], 'reached'> = {
      reached: (version) => {
        expect(requests).to.deep.equal([]);
        reached.push(version);
        return Promise.resolve();
      },
    };
    const ingesters: StatementDeps['ingesters'] = {
      ownerOf: ({ nodeId }) =>
        partialIngester({
          dropTables: ({ tableIds }) => {
            requests.push({ nodeId, tableIds });
            const answer = answers.get(nodeId) ?? 'ok';
            return answer === 'ok' ? Promise.resolve({}) : Promise.reject(answer);
          },
        }),
      isAway: (nodeId) => away.has(nodeId),
    };
    return confirmDropped({ catalog: catalog as StatementDeps['catalog'], ingesters, clock }, tables, 7n, call);
  }

  function dropped(tableId: number, ...nodeIds: readonly number[]): DroppedTable {
    const regions = nodeIds.map((nodeId, index) => {
      return { regionId: 10 * tableId + index, index, epoch: 1, nodeId, idsSinceEpoch: 1 };
    });
    return { tableId, name: `t${tableId}`, regions };
  }

  /** Advances the clock in steps, letting pending work finish after each. */
  async function pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 10) {
      await systemClock.yield();
      await clock.advance(10);
    }
  }

  /** Returns how long the work takes by the test's clock. */
  async function durationMs(work: Promise<unknown>): Promise<number> {
    const startMs = clock.nowMs();
    let endMs: number | undefined;
    const recordEnd = (): void => void (endMs = clock.nowMs());
    work.then(recordEnd, recordEnd);
    for (let i = 0; i < 2_000 && endMs === undefined; i++) await pass(10);
    return (endMs ?? Infinity) - startMs;
  }

  it('requests each owner once for all tables when the catalog is as new as the drop', async () => {
    expect(await confirm([dropped(1, 5, 6, 5), dropped(2, 6, 0)])).to.deep.equal([]);
    expect(reached).to.deep.equal([7n]);
    expect(requests).to.deep.equal([
      { nodeId: 5, tableIds: [1] },
      { nodeId: 6, tableIds: [1, 2] },
    ]);
  });

  it('repeats the request until it is answered', async () => {
    answers.set(5, LOST);
    const confirming = confirm([dropped(1, 5)]);
    await pass(1_000);
    answers.set(5, 'ok');
    await pass(1_000);
    expect(await confirming).to.deep.equal([]);
    expect(requests.length).to.be.within(3, 10);
  });

  it('skips a node that does not respond and counts as gone', async () => {
    answers.set(5, LOST);
    const confirming = confirm([dropped(1, 5, 6)]);
    await pass(5_000);
    away.add(5);
    await pass(1_000);
    expect(await confirming).to.deep.equal([5]);
  });

  it('treats a node that refuses connections as stopped: at once if it counts as gone, otherwise if it keeps refusing', async () => {
    answers.set(5, REFUSED);
    const lasting = confirm([dropped(1, 5)]);
    expect(await durationMs(lasting)).to.be.within(3_000, 4_000);
    expect(await lasting).to.deep.equal([]);
    away.add(5);
    requests = [];
    const atOnce = confirm([dropped(1, 5)]);
    expect(await durationMs(atOnce)).to.be.at.most(10);
    expect(await atOnce).to.deep.equal([]);
  });

  it('does not treat a refusal as a stop when other responses follow', async () => {
    answers.set(5, REFUSED);
    const confirming = failure(confirm([dropped(1, 5)]));
    await pass(2_000);
    answers.set(5, LOST);
    await pass(2_000);
    answers.set(5, REFUSED);
    await pass(2_000);
    answers.set(5, LOST);
    await pass(10_000);
    expect((await confirming).code).to.equal('external');
  });

  it('names the nodes that did not confirm', async () => {
    answers.set(5, LOST);
    answers.set(6, new AlmanacError('unsupported', 'an older release'));
    const failing = failure(confirm([dropped(1, 5, 6, 7)]));
    expect(await durationMs(failing)).to.be.within(14_000, 16_000);
    const { code, message } = await failing;
    expect(code).to.equal('external');
    expect(message).to.match(/^table "t1" was dropped, but nodes 5, 6 did not confirm it in time/);
  });

  it('fails before the deadline of the call', async () => {
    answers.set(5, LOST);
    const failing = failure(
      confirm([dropped(1, 5), dropped(2, 5)], { ...ownCall('test'), deadlineMs: clock.nowMs() + 2_000 }),
    );
    expect(await durationMs(failing)).to.be.within(1_000, 1_900);
    expect((await failing).message).to.match(/^2 tables were dropped, but node 5 did not confirm/);
  });

  it('ends with its caller', async () => {
    answers.set(5, LOST);
    const caller = new AbortController();
    const failing = failure(confirm([dropped(1, 5)], ownCall('test', caller.signal)));
    await pass(500);
    caller.abort();
    await pass(1_000);
    expect((await failing).code).to.equal('cancelled');
  });
});
