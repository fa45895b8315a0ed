import { expect } from 'chai';

import { cpuProfileOf } from '#shared/profiling/process-profile';

describe('cpuProfileOf', () => {
  const node = (id: number, functionName: string, children: number[] = []) => {
    return { id, callFrame: { functionName, url: '', lineNumber: 0, columnNumber: 0 }, children };
  };

  /** Milliseconds by innermost call of a profile whose main thread has samples of 1,600 ms, in a process that took 1,500. */
  const timesOf = (cpuNanos?: number): Record<string, number> => {
    const profile = {
      nodes: [node(1, '(root)', [2, 3, 4]), node(2, '(idle)'), node(3, 'parse'), node(4, 'read')],
      startTime: 0,
      endTime: 2_000_000,
      samples: [2, 3, 4],
      timeDeltas: [400_000, 1_200_000, 400_000],
    };
    const threads = [{ name: 'main', profile, cpuNanos }];
    const { frames, samples } = cpuProfileOf(
      { startedMs: 0, durationMs: 2000, intervalMicros: 2000, processNanos: 1.5e9, threads },
      ({ functionName }) => ({ name: functionName, file: '', line: 0 }),
    );
    const named = samples.map(({ stack, value }) => [frames[stack.at(-1) ?? 0]?.name.split(':')[0], value / 1e6]);
    return Object.fromEntries(named) as Record<string, number>;
  };

  it('counts no time in which other processes had the processor', () => {
    expect(timesOf(0.8e9)).to.deep.equal({ parse: 600, read: 200, '(native threads': 700 });
  });

  it('takes samples as they are if the time of the thread is longer or unknown', () => {
    expect(timesOf(1.7e9)).to.deep.equal({ parse: 1200, read: 400 });
    expect(timesOf()).to.deep.equal({ parse: 1200, read: 400 });
  });
});
