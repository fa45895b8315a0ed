import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BoundedQueue } from '#shared/limits/bounded-queue';
import { MemoryBudget } from '#shared/limits/memory-budget';
import { pollUntil } from '#test/support/almanac';

const LONG_MS = 60_000;

async function failure(work: Promise<unknown>): Promise<AlmanacError> {
  try {
    await work;
  } catch (error) {
    expect(error).to.be.instanceOf(AlmanacError);
    return AlmanacError.from(error);
  }
  return expect.fail('it did not fail');
}

/** Notes the name of each admission in the order in which they happen. */
function noted(order: string[], name: string, work: Promise<void>): Promise<void> {
  return work.then(() => void order.push(name));
}

describe('MemoryBudget', () => {
  function budget(limitBytes: number): MemoryBudget {
    return new MemoryBudget({ name: 'test', limitBytes, clock: systemClock });
  }

  it('admits up to its limit at once', async () => {
    const memory = budget(10);
    await memory.admit(4, undefined, 0);
    await memory.admit(6, undefined, 0);
    expect(memory.usedBytes).to.equal(10);
    memory.release(10);
    expect(memory.usedBytes).to.equal(0);
  });

  it('refuses as busy when nothing is released in time, and reserves nothing then', async () => {
    const memory = budget(10);
    await memory.admit(10, undefined, 0);
    const error = await failure(memory.admit(1, undefined, 1));
    expect(error.code).to.equal('region_busy');
    expect(error.retryAfterSeconds).to.equal(1);
    expect(error.message).to.equal('test memory is full: 10 of 10 bytes are in use');
    expect(memory.usedBytes).to.equal(10);
    expect(memory.waitingCount).to.equal(0);
  });

  it('serves in order: a small reservation does not overtake a large one', async () => {
    const memory = budget(10);
    const order: string[] = [];
    await memory.admit(6, undefined, 0);
    const big = noted(order, 'big', memory.admit(8, undefined, LONG_MS));
    const small = noted(order, 'small', memory.admit(2, undefined, LONG_MS));
    expect(memory.waitingCount).to.equal(2);
    memory.release(6);
    await Promise.all([big, small]);
    expect(order).to.deep.equal(['big', 'small']);
    expect(memory.usedBytes).to.equal(10);
  });

  it('lets later waiters proceed when the first one cancels', async () => {
    const memory = budget(10);
    const abort = new AbortController();
    await memory.admit(6, undefined, 0);
    const big = failure(memory.admit(8, abort.signal, LONG_MS));
    const small = memory.admit(2, undefined, LONG_MS);
    abort.abort();
    expect((await big).code).to.equal('cancelled');
    await small;
    expect(memory.usedBytes).to.equal(8);
  });

  it('passes on the reason of an aborted signal if it is an AlmanacError', async () => {
    const memory = budget(1);
    await memory.admit(1, undefined, 0);
    const signal = AbortSignal.abort(new AlmanacError('deadline_exceeded', 'too late'));
    expect((await failure(memory.admit(1, signal, LONG_MS))).message).to.equal('too late');
  });

  it('admits more than the whole budget alone', async () => {
    const memory = budget(10);
    await memory.admit(1, undefined, 0);
    const huge = memory.admit(50, undefined, LONG_MS);
    expect(memory.waitingCount).to.equal(1);
    memory.release(1);
    await huge;
    expect(memory.usedBytes).to.equal(50);
  });

  it('accounts for memory that is already in use', async () => {
    const memory = budget(10);
    memory.charge(10);
    expect((await failure(memory.admit(1, undefined, 0))).code).to.equal('region_busy');
  });

  it('notices a double release', () => {
    expect(() => budget(10).release(1)).to.throw('released twice');
  });
});

describe('BoundedQueue', () => {
  function queue(runningMax: number, waitingMax: number): BoundedQueue {
    return new BoundedQueue({ name: 'queries', runningMax, waitingMax, clock: systemClock });
  }

  async function until(isTrue: () => boolean): Promise<void> {
    expect(await pollUntil(performance.now() + LONG_MS, () => Promise.resolve(isTrue()))).to.equal(true);
  }

  /** Work that ends on request. */
  function held(): { work: () => Promise<string>; end: (value: string) => void } {
    let end: (value: string) => void = () => undefined;
    const promise = new Promise<string>((resolve) => (end = resolve));
    return { work: () => promise, end: (value) => end(value) };
  }

  it('runs a number of jobs at once, lets the others wait in order and refuses more', async () => {
    const running = queue(1, 1);
    const first = held();
    const one = running.run(first.work, { waitMs: LONG_MS });
    const two = running.run(() => Promise.resolve('second'), { waitMs: LONG_MS });
    const refused = await failure(running.run(() => Promise.resolve('third'), { waitMs: LONG_MS }));
    expect(refused.code).to.equal('rate_limited');
    expect(refused.message).to.equal('too many queries: 1 are running and 1 are waiting');
    expect([running.runningCount, running.waitingCount]).to.deep.equal([1, 1]);
    first.end('first');
    expect(await Promise.all([one, two])).to.deep.equal(['first', 'second']);
    expect([running.runningCount, running.waitingCount]).to.deep.equal([0, 0]);
  });

  it('frees the slot of failed work', async () => {
    const running = queue(1, 0);
    expect(
      (await failure(running.run(() => Promise.reject(new AlmanacError('unsupported', 'no')), { waitMs: 0 }))).code,
    ).to.equal('unsupported');
    expect(await running.run(() => Promise.resolve(1), { waitMs: 0 })).to.equal(1);
  });

  it('releases the slot of work that waits for others, and reacquires it before the next', async () => {
    const running = queue(1, 2);
    const [other, last] = [held(), held()];
    const order: string[] = [];
    const aside = running.run(
      async (slot) => {
        order.push(await slot.releaseWhile(other.work));
        await last.work();
      },
      { waitMs: LONG_MS },
    );
    const second = held();
    const two = running.run(() => (order.push('second'), second.work()), { waitMs: LONG_MS });
    const three = running.run(() => Promise.resolve(order.push('third')), { waitMs: LONG_MS });
    expect(order).to.deep.equal([]);
    await until(() => order.length === 1);
    expect((await failure(running.run(other.work, { waitMs: 0 }))).code).to.equal('rate_limited');
    other.end('released');
    second.end('');
    await until(() => order.length === 2);
    expect(running.runningCount).to.equal(1);
    last.end('');
    await Promise.all([aside, two, three]);
    expect(order).to.deep.equal(['second', 'released', 'third']);
    expect([running.runningCount, running.waitingCount]).to.deep.equal([0, 0]);
  });

  it('releases no more slots than jobs may wait', async () => {
    const running = queue(1, 1);
    const other = held();
    const first = running.run((slot) => slot.releaseWhile(other.work), { waitMs: LONG_MS });
    await until(() => running.runningCount === 0);
    const second = running.run((slot) => slot.releaseWhile(other.work), { waitMs: LONG_MS });
    expect((await failure(running.run(other.work, { waitMs: 500 }))).code).to.equal('rate_limited');
    // Longer than after which the first gave its place away.
    await new Promise<void>((done) => systemClock.after(300, done));
    expect(running.runningCount).to.equal(1);
    other.end('');
    await Promise.all([first, second]);
    expect(running.runningCount).to.equal(0);
  });

  it('counts work that waits to reacquire its slot once, and readmits it in order', async () => {
    const running = queue(1, 3);
    const [first, second, last] = [held(), held(), held()];
    const order: string[] = [];
    const goAside = async (other: typeof first): Promise<void> => {
      await running.run(async (slot) => order.push(await slot.releaseWhile(other.work)), { waitMs: LONG_MS });
    };
    const one = goAside(first);
    await until(() => running.runningCount === 0);
    const two = goAside(second);
    await until(() => running.runningCount === 0);
    const holding = running.run(last.work, { waitMs: LONG_MS });
    first.end('first');
    await until(() => running.waitingCount === 1);
    second.end('second');
    await until(() => running.waitingCount === 2);
    // Two of the three that may wait.
    const three = running.run(() => Promise.resolve(order.push('third')), { waitMs: LONG_MS });
    last.end('');
    await Promise.all([one, two, three, holding]);
    expect(order).to.deep.equal(['first', 'second', 'third']);
  });

  it('reacquires one slot for work that waits for two others at once', async () => {
    const running = queue(1, 2);
    const [one, two, last] = [held(), held(), held()];
    const both = running.run(
      async (slot) => {
        await Promise.all([slot.releaseWhile(one.work), slot.releaseWhile(two.work)]);
        return last.work();
      },
      { waitMs: LONG_MS },
    );
    await until(() => running.runningCount === 0);
    const holding = held();
    const next = running.run(holding.work, { waitMs: LONG_MS });
    one.end('');
    two.end('');
    await until(() => running.waitingCount === 1);
    holding.end('');
    await next;
    await until(() => running.waitingCount === 0);
    expect(running.runningCount).to.equal(1);
    last.end('');
    await both;
    expect(running.runningCount).to.equal(0);
  });

  it('keeps no slot for work that fails while it is released, or reacquires too late', async () => {
    const running = queue(1, 1);
    const other = held();
    const outOfTime = failure(running.run((slot) => slot.releaseWhile(other.work), { waitMs: 250 }));
    const second = held();
    const two = running.run(second.work, { waitMs: LONG_MS });
    await until(() => running.waitingCount === 0);
    other.end('');
    expect((await outOfTime).code).to.equal('deadline_exceeded');
    expect(running.runningCount).to.equal(1);
    second.end('');
    await two;
    const failing = running.run(
      (slot) => slot.releaseWhile(() => Promise.reject(new AlmanacError('unsupported', 'no'))),
      {
        waitMs: 0,
      },
    );
    expect((await failure(failing)).code).to.equal('unsupported');
    expect(running.runningCount).to.equal(0);
  });

  it('stops waiting at the deadline and when the signal aborts', async () => {
    const running = queue(1, 2);
    const first = held();
    const abort = new AbortController();
    const one = running.run(first.work, { waitMs: LONG_MS });
    const late = failure(running.run(first.work, { waitMs: 1 }));
    const aborted = failure(running.run(first.work, { waitMs: LONG_MS, signal: abort.signal }));
    abort.abort();
    expect((await aborted).code).to.equal('cancelled');
    expect((await late).code).to.equal('deadline_exceeded');
    first.end('done');
    await one;
    expect((await failure(running.run(first.work, { waitMs: 0, signal: abort.signal }))).code).to.equal('cancelled');
  });
});
