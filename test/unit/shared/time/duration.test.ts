import { expect } from 'chai';

import { parseDurationMs, parseDurationNs, printDurationMs, printDurationNs } from '#shared/time/duration';

const DAY_MS = 86_400_000;

describe('duration', () => {
  function reads(text: string, ms: number): void {
    expect(parseDurationMs(text), text).to.equal(ms);
  }

  function rejects(text: string, reason: string): void {
    expect(() => parseDurationMs(text), text).to.throw(reason);
  }

  it('reads numbers with units, with and without spaces', () => {
    reads('5m', 300_000);
    reads('1h 30m', 5_400_000);
    reads('1h30m', 5_400_000);
    reads('7days', 7 * DAY_MS);
    reads('7 days', 7 * DAY_MS);
    reads(' 30s ', 30_000);
    reads('2w', 14 * DAY_MS);
    reads('250ms', 250);
    reads('0s', 0);
    reads('0', 0);
    reads('1 hour 1 minute 1 second', 3_661_000);
  });

  it('distinguishes minutes from months by the case of the letter', () => {
    reads('1m', 60_000);
    reads('1M', 2_630_016_000);
    reads('1y', 31_557_600_000);
  });

  it('reads nanoseconds', () => {
    expect(parseDurationNs('1us 5ns')).to.equal(1_005n);
    expect(parseDurationNs('3ns')).to.equal(3n);
  });

  it('refuses invalid durations', () => {
    rejects('', 'empty');
    rejects('5', 'expected a whole number and a unit');
    rejects('1.5h', 'expected a whole number and a unit');
    rejects('-5m', 'expected a whole number and a unit');
    rejects('5 parsecs', 'unknown unit "parsecs"');
    rejects('m', 'expected a whole number and a unit');
    rejects('300y', 'longer than 292 years');
    rejects('5us', 'not a whole number of milliseconds');
  });

  it('prints the canonical form', () => {
    expect(printDurationMs(7 * DAY_MS)).to.equal('7days');
    expect(printDurationMs(DAY_MS)).to.equal('1day');
    expect(printDurationMs(3_600_000)).to.equal('1h');
    expect(printDurationMs(90_000)).to.equal('1m 30s');
    expect(printDurationMs(90 * DAY_MS)).to.equal('2months 29days 2h 52m 48s');
    expect(printDurationMs(0)).to.equal('0s');
    expect(printDurationNs(1_001_001n)).to.equal('1ms 1us 1ns');
  });
});
