import { expect } from 'chai';

import { LineKeys, lineOfJson, withoutRepeats } from '#services/gateway/dashboard/app/screens/logs/log-line';
import { EventStreamReader } from '#services/gateway/dashboard/app/screens/logs/tail/event-stream';
import { TailSampler } from '#services/gateway/dashboard/app/screens/logs/tail/tail-sampler';
import { parseSearch } from '#services/gateway/dashboard/app/screens/logs/search/search';
import { hasTerm, tailSearch } from '#services/gateway/dashboard/app/screens/logs/search/tail-search';

import { tableOf } from './tables.js';

const TABLE = tableOf('app_log');

const lineOf = (row: object) =>
  lineOfJson(JSON.stringify({ ts: '2026-01-31T00:00:00.000000001Z', ...row }), TABLE, new LineKeys());

describe('the search of a live tail', () => {
  it('sends what the server can check', () => {
    const search = tailSearch(parseSearch('disk "half full" -swap status>=500 message~a.b'), TABLE);
    expect(search.search).to.equal('"disk" "half full" -"swap"');
    expect(search.where).to.deep.equal(['status>=500', 'message=~a.b']);
    expect(search.accepts).to.equal(undefined);
  });

  it('checks alternatives and levels itself', () => {
    const { where, search, accepts } = tailSearch(parseSearch('(disk OR status=5) level>=warn x'), TABLE);
    expect([where, search]).to.deep.equal([[], '"x"']);
    expect(accepts?.(lineOf({ message: 'Disk', level: 'WARN' }))).to.equal(true);
    expect(accepts?.(lineOf({ message: 'disks', level: 'warn' }))).to.equal(false);
    expect(accepts?.(lineOf({ message: 'none', status: 5, level: 'err' }))).to.equal(true);
    expect(accepts?.(lineOf({ message: 'disk', level: 'info' }))).to.equal(false);
  });

  it('finds whole words only', () => {
    expect(hasTerm('disk_full', 'disk')).to.equal(true);
    expect(hasTerm('disks disk', 'disk')).to.equal(true);
    expect(hasTerm('disks', 'disk')).to.equal(false);
    expect(hasTerm('ädisk', 'disk')).to.equal(false);
  });

  it('refuses a field that the table does not have', () => {
    expect(() => tailSearch(parseSearch('nope=1'), TABLE)).to.throw('no column "nope"');
    expect(() => tailSearch(parseSearch('a OR message~"("'), TABLE)).to.throw('is no regular expression');
  });
});

describe('the stream of a live tail', () => {
  it('reads events from chunks of any size', () => {
    const text =
      'id: 1:2\n: connected\n\nid: 1:3\ndata: {"a":1}\n\nevent: skipped\r\ndata: {"rows":5}\r\n\r\ndata: x\ndata: y\n\n';
    for (let size = 1; size < text.length; size++) {
      const reader = new EventStreamReader();
      const events = [];
      for (let i = 0; i < text.length; i += size) events.push(...reader.take(text.slice(i, i + size)));
      expect(events, `chunks of ${size}`).to.deep.equal([
        { name: 'message', data: '{"a":1}' },
        { name: 'skipped', data: '{"rows":5}' },
        { name: 'message', data: 'x\ny' },
      ]);
      expect(reader.lastId).to.equal('1:3');
    }
  });

  it('shows all lines up to 500 a second, and of more an even sample', () => {
    const sampler = new TailSampler();
    const shownIn = (startMs: number, count: number): number => {
      let shown = 0;
      for (let i = 0; i < count; i++) shown += Number(sampler.take(startMs + (i * 1000) / count));
      return shown;
    };
    expect(shownIn(0, 500)).to.equal(500);
    expect(sampler.isSampling).to.equal(false);
    expect(shownIn(1000, 5000)).to.equal(500);
    expect(shownIn(2000, 5000)).to.equal(500);
    sampler.advance(3000);
    expect([sampler.isSampling, sampler.perSecond]).to.deep.equal([true, 5000]);
    sampler.advance(9000);
    expect([sampler.isSampling, sampler.perSecond]).to.deep.equal([false, 0]);
  });
});

describe('a line of logs', () => {
  it('keeps nanoseconds and members of JSON', () => {
    const line = lineOf({ message: 'm', level: 'ERR', big: 1, meta: { a: [1] } });
    expect(line.timeNs).to.equal(1_769_817_600_000_000_001n);
    expect([line.text, line.level, line.fields.get('meta')]).to.deep.equal(['m', 'error', '{"a":[1]}']);
  });

  it('has a key of its own when several have one time', () => {
    const keys = new LineKeys();
    expect([keys.next(5n), keys.next(5n), keys.next(6n)]).to.deep.equal(['5', '5-1', '6']);
  });

  it('is joined with equal neighbours', () => {
    const lines = ['a', 'a', 'b', 'a'].map((message) => lineOf({ message }));
    const joined = withoutRepeats(lines).map(({ line, repeats }) => `${line.text} ${repeats}`);
    expect(joined).to.deep.equal(['a 1', 'b 0', 'a 0']);
  });
});
