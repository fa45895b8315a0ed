import { EventEmitter, once } from 'node:events';

import { expect } from 'chai';

import { CallSignal } from '#shared/contracts/call-signal';
import { systemClock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { Waiters } from '#shared/limits/waiters';

const GONE = new AlmanacError('cancelled', 'gone');

describe('CallSignal', () => {
  it('calls its listeners once, with the reason of the first abort', () => {
    const signal = new CallSignal();
    const calls: unknown[] = [];
    const listener = (): void => void calls.push(signal.reason);
    signal.addEventListener('abort', listener);
    signal.addEventListener('abort', listener);
    signal.addEventListener('other', listener);
    signal.addEventListener('abort', { handleEvent: ({ type }) => void calls.push(type) });
    signal.onabort = () => void calls.push('property');
    signal.throwIfAborted();
    signal.abort(GONE);
    signal.abort(new Error('later'));
    expect(calls).to.deep.equal(['property', GONE, 'abort']);
    expect(signal.aborted).to.equal(true);
    expect(() => signal.throwIfAborted()).to.throw(GONE);
  });

  it('calls no listener that another one has removed', () => {
    const signal = new CallSignal();
    const calls: string[] = [];
    const second = (): void => void calls.push('second');
    signal.addEventListener('abort', () => {
      calls.push('first');
      signal.removeEventListener('abort', second);
    });
    signal.addEventListener('abort', second);
    signal.addEventListener('abort', () => void calls.push('third'));
    signal.abort(GONE);
    expect(calls).to.deep.equal(['first', 'third']);
  });

  it('ends waits of Node.js', async () => {
    const signal = new CallSignal();
    const drained = once(new EventEmitter(), 'drain', { signal });
    signal.abort(GONE);
    const failure: unknown = await drained.catch((error: unknown) => error);
    expect((failure as Error).cause).to.equal(GONE);
  });

  it('ends all waits of a call, and those of no other', async () => {
    const signal = new CallSignal();
    const waiters = new Waiters(systemClock);
    let free = 0;
    const wait = async (size: number, of: CallSignal): Promise<string> => {
      const canGo = (): boolean => size <= free;
      const onTimeout = (): AlmanacError => new AlmanacError('region_busy', 'late');
      return waiters.wait(canGo, { signal: of, waitMs: 60_000, onTimeout }).then(
        () => 'went',
        (error: unknown) => (error as Error).message,
      );
    };
    const ended = [wait(50, signal), wait(5, signal)];
    const other = new CallSignal();
    const waiting = [wait(20, other), wait(30, other)];
    // What the first of them leaves is enough for the second, which goes while it is being aborted.
    free = 10;
    signal.abort(GONE);
    expect(await Promise.all(ended)).to.deep.equal(['gone', 'went']);
    expect(waiters.count).to.equal(2);
    free = 100;
    waiters.wakeFirst();
    expect(await Promise.all(waiting)).to.deep.equal(['went', 'went']);
  });
});
