import { EventEmitter, once } from 'node:events';

import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { Loop } from '#shared/lifecycle/loop';
import { handleStopSignals, type SignalOptions } from '#shared/lifecycle/signals';
import { openLog } from '#shared/telemetry/log';
import { Metrics } from '#shared/telemetry/metrics';

function openTestLog(): { log: ReturnType<typeof openLog>['logger']; lines: string[] } {
  const lines: string[] = [];
  const write = (line: string): unknown => lines.push(line);
  return { log: openLog({ filter: 'info', format: 'json', coloured: false, clock: systemClock, write }).logger, lines };
}

function options(intervalMs: number): ConstructorParameters<typeof Loop>[0] & { lines: string[] } {
  const { log, lines } = openTestLog();
  return {
    name: 'test',
    intervalMs,
    clock: systemClock,
    log,
    lines,
    metrics: new Metrics({ unprefixedProcess: false }),
  };
}

describe('Loop', () => {
  it('repeats its work until it is stopped, and logs and counts failures', async () => {
    const events = new EventEmitter();
    let turnCount = 0;
    const settings = options(1);
    const loop = new Loop(settings, () => {
      turnCount++;
      if (turnCount === 3) events.emit('third');
      return turnCount === 2 ? Promise.reject(new RangeError('odd')) : Promise.resolve();
    });
    const third = once(events, 'third');
    loop.start();
    loop.start();
    await third;
    await loop.stop();
    expect(settings.lines[0]).to.contain('background loop failed').and.to.contain('odd');
    const printed = await settings.metrics.print();
    expect(printed).to.contain('almanac_loop_turns_total{loop="test",result="failed"} 1\n');
  });

  it('waits for the current run when it stops, and signals it to end', async () => {
    const events = new EventEmitter();
    let hasEnded = false;
    const loop = new Loop(options(60_000), async (signal) => {
      const aborted = once(signal, 'abort');
      events.emit('began');
      await aborted;
      hasEnded = true;
    });
    const began = once(events, 'began');
    loop.start();
    loop.wake();
    await began;
    await loop.stop();
    expect(hasEnded).to.equal(true);
  });

  it('stops at once during a pause, also twice, also when it never started', async () => {
    const loop = new Loop(options(60_000), () => Promise.reject(new RangeError('never called')));
    await loop.stop();
    loop.start();
    await loop.stop();
    await loop.stop();
  });
});

describe('handleStopSignals', () => {
  /** A process that only remembers its exits. */
  class ObservedProcess extends EventEmitter {
    readonly exits: number[] = [];
    exit(code: number): void {
      this.exits.push(code);
      this.emit('exited');
    }
  }

  function handled(drain: () => Promise<void>, timeoutMs = 60_000): { process: ObservedProcess; remove: () => void } {
    const process = new ObservedProcess();
    const { log } = openTestLog();
    const settings = { drain, timeoutMs, clock: systemClock, log, process } as unknown as SignalOptions;
    return { process, remove: handleStopSignals(settings) };
  }

  it('exits with 0 after a clean drain', async () => {
    const { process } = handled(() => Promise.resolve());
    const exited = once(process, 'exited');
    process.emit('SIGTERM', 'SIGTERM');
    await exited;
    expect(process.exits).to.deep.equal([0]);
  });

  it('exits with 1 when draining fails', async () => {
    const { process } = handled(() => Promise.reject(new RangeError('full')));
    const exited = once(process, 'exited');
    process.emit('SIGINT', 'SIGINT');
    await exited;
    expect(process.exits).to.deep.equal([1]);
  });

  it('exits at once at the second signal', () => {
    const never = new Promise<void>(() => undefined);
    const first = handled(() => never);
    first.process.emit('SIGTERM', 'SIGTERM');
    first.process.emit('SIGINT', 'SIGINT');
    expect(first.process.exits).to.deep.equal([130]);
    const second = handled(() => never);
    second.process.emit('SIGINT', 'SIGINT');
    second.process.emit('SIGTERM', 'SIGTERM');
    expect(second.process.exits).to.deep.equal([143]);
  });

  it('exits with the number of the signal when the drain takes too long', async () => {
    const { process } = handled(() => new Promise(() => undefined), 1);
    const exited = once(process, 'exited');
    process.emit('SIGTERM', 'SIGTERM');
    await exited;
    expect(process.exits).to.deep.equal([143]);
  });

  it('removes its handlers', () => {
    const { process, remove } = handled(() => Promise.resolve());
    remove();
    expect(process.listenerCount('SIGTERM') + process.listenerCount('SIGINT')).to.equal(0);
  });
});
