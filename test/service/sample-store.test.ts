import { expect } from 'chai';

import { printLabels } from '#services/querier/series/labels';
import type { SampleStore } from '#services/querier/samples/sample-store';
import { UNCOUNTED_SLOT } from '#shared/limits/bounded-queue';
import { failure } from '#test/support/failure';
import { HurriedClock } from '#test/support/hurried-clock';
import { FOREVER, matcher, openSamples, selectSamples } from '#test/support/sample-rig';
import { CALL, StorageRig, type RigRow } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const MS = 1_000_000n;

describe('SampleStore', () => {
  const cleanUps: (() => unknown)[] = [];
  let rig: StorageRig;
  let store: SampleStore;

  beforeEach(async () => {
    rig = await StorageRig.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    cleanUps.push(() => rig.stop());
    const spillFolder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const opened = await openSamples(rig, spillFolder);
    cleanUps.push(() => opened.close());
    ({ store } = opened);
  });

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  function row(host: string, seconds: number, a: number): RigRow {
    return { host, time: BigInt(seconds) * 1000n * MS, a };
  }

  const select = (texts: readonly string[], range?: readonly [number, number]): Promise<string[]> => {
    return selectSamples(store, texts, range);
  };

  it('merges fresh rows and rows of segments into one series with the newest values', async () => {
    const table = await rig.table('m');
    await rig.write(table, [row('x', 1, 1), row('x', 2, 2), row('y', 1, 10)]);
    const fresh = ['{__name__="m", host="x"} 1:1 2:2', '{__name__="m", host="y"} 1:10'];
    expect(await select(['__name__=m'])).to.deep.equal(fresh);
    await rig.flush(table);
    expect(await select(['__name__=m'])).to.deep.equal(fresh);
    await rig.write(table, [row('x', 3, 3), row('x', 1, 11), row('z', 5, 5)]);
    const mixed = [
      '{__name__="m", host="x"} 1:11 2:2 3:3',
      '{__name__="m", host="y"} 1:10',
      '{__name__="m", host="z"} 5:5',
    ];
    expect(await select(['__name__=m'])).to.deep.equal(mixed);
    await rig.flush(table);
    expect(await select(['__name__=m'])).to.deep.equal(mixed);
    await rig.write(table, [row('x', 2, 22), row('x', 2, 23)]);
    expect(await select(['__name__=m', 'host=x'])).to.deep.equal(['{__name__="m", host="x"} 1:11 2:23 3:3']);
  });

  it('returns the samples in the range, which is open on the left', async () => {
    const table = await rig.table('m');
    await rig.write(
      table,
      [1, 2, 3].map((second) => row('x', second, second)),
    );
    expect(await select(['__name__=m'], [1000, 2000])).to.deep.equal(['{__name__="m", host="x"} 2:2']);
    await rig.flush(table);
    expect(await select(['__name__=m'], [1000, 2000])).to.deep.equal(['{__name__="m", host="x"} 2:2']);
    await rig.write(table, [row('x', 4, 4)]);
    expect(await select(['__name__=m'], [2000, 9000])).to.deep.equal(['{__name__="m", host="x"} 3:3 4:4']);
    expect(await select(['__name__=m'], [9000, 99000])).to.deep.equal([]);
  });

  it('finds series by all matcher operators and treats an absent label as empty', async () => {
    const table = await rig.table('m');
    const other = await rig.table('other');
    await rig.write(
      table,
      ['a', 'b', 'ab', ''].map((host) => row(host, 1, 1)),
    );
    await rig.write(other, [row('a', 1, 2)]);
    const hosts = async (...texts: string[]): Promise<string[]> => {
      return (await select(['__name__=m', ...texts])).map((text) => /host="(\w*)"/.exec(text)?.[1] ?? '');
    };
    expect(await hosts('host=a')).to.deep.equal(['a']);
    expect(await hosts('host!=a')).to.have.members(['', 'ab', 'b']);
    expect(await hosts('host=~a.*')).to.have.members(['a', 'ab']);
    expect(await hosts('host!~a.*')).to.have.members(['', 'b']);
    expect(await hosts('host=')).to.deep.equal(['']);
    expect(await hosts('nothing=', 'host=b')).to.deep.equal(['b']);
    expect(await hosts('nothing!=')).to.deep.equal([]);
    expect(await select(['host=a'])).to.deep.equal([
      '{__name__="m", host="a"} 1:1',
      '{__name__="other", host="a"} 1:2',
    ]);
    expect(await select(['__name__=~oth.*'])).to.deep.equal(['{__name__="other", host="a"} 1:2']);
  });

  it('returns each series with its own samples when there are more series than one group', async () => {
    const table = await rig.table('m');
    const count = 70_000;
    const rows = Array.from({ length: count }, (_, i) => row(`h${i}`, 1 + (i % 3), i));
    for (let from = 0; from < count; from += 10_000) await rig.write(table, rows.slice(from, from + 10_000));
    await rig.flush(table);
    await rig.write(
      table,
      rows.filter((_, i) => i % 7 === 0).map(({ host, a }) => ({ host, time: 9000n * MS, a })),
    );
    const texts = await select(['__name__=m']);
    const expected = rows.map(({ host }, i) => {
      return `{__name__="m", host="${host}"} ${1 + (i % 3)}:${i}${i % 7 === 0 ? ` 9:${i}` : ''}`;
    });
    expect(texts.toSorted()).to.deep.equal(expected.toSorted());
    expect((await select(['__name__=m', 'host=~h.*5'])).length).to.equal(count / 10);
  });

  it('counts the samples that are decoded from segments, once', async () => {
    const table = await rig.table('m');
    const times = Array.from({ length: 300 }, (_, i) => i + 1);
    await rig.write(
      table,
      ['a', 'b'].flatMap((host) => times.map((time) => row(host, time, time))),
    );
    await rig.flush(table);
    await rig.write(table, [row('a', 400, 1)]);
    for (const read of ['select', 'selectAround'] as const) {
      const counts = [{ samples: 0 }, { samples: 0 }];
      for (const count of counts) {
        const open = await store.open('public', CALL, UNCOUNTED_SLOT, count);
        await open[read]([matcher('__name__=m')], ...FOREVER);
        open.close();
      }
      expect(counts, read).to.deep.equal([{ samples: 600 }, { samples: 0 }]);
    }
  });

  it('returns labels, values and series', async () => {
    const table = await rig.table('m');
    await rig.write(
      table,
      ['a', 'b'].map((host) => row(host, 1, 1)),
    );
    const all = { matcherSets: [], fromMs: FOREVER[0], toMs: FOREVER[1] };
    const open = await store.open('public', CALL, UNCOUNTED_SLOT);
    expect(await open.labelNames(all)).to.deep.equal(['__name__', 'host']);
    expect(await open.labelValues('host', all)).to.deep.equal(['a', 'b']);
    expect(await open.labelValues('__name__', all)).to.deep.equal(['m']);
    const some = { ...all, matcherSets: [[matcher('host=a')], [matcher('host=~a|x')]] };
    expect((await open.series(some)).map(printLabels)).to.deep.equal(['{__name__="m", host="a"}']);
    const facts = await open.facts(1);
    expect(facts).to.deep.include({ seriesCount: 2, labelPairCount: 3 });
    expect(facts.seriesCountByMetricName).to.deep.equal([{ name: 'm', value: 2 }]);
    open.close();
  });

  it('yields to the event loop while it collects many label values', async () => {
    const table = await rig.table('m');
    const hosts = Array.from({ length: 20_000 }, (_, i) => `host-${i}`);
    await rig.write(
      table,
      hosts.map((host) => row(host, 1, 1)),
    );
    const clock = new HurriedClock();
    const opened = await openSamples(
      rig,
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      clock,
    );
    cleanUps.push(() => opened.close());
    const open = await opened.store.open('public', CALL, UNCOUNTED_SLOT);
    const query = { matcherSets: [], fromMs: FOREVER[0], toMs: FOREVER[1] };
    await open.labelNames(query);
    clock.yields = 0;
    expect(await open.labelValues('host', query)).to.deep.equal(hosts.sort());
    // Sorting alone takes about 100 yields.
    expect(clock.yields).to.be.at.least(150);
    open.close();
  });

  it('returns a series once when the cache drops its labels between two matchers', async () => {
    const table = await rig.table('m');
    const hosts = Array.from({ length: 4_000 }, (_, i) => `host-${i}`);
    await rig.write(
      table,
      hosts.map((host) => row(host, 1, 1)),
    );
    const open = await store.open('public', CALL, UNCOUNTED_SLOT);
    const both = [[matcher('__name__=m')], [matcher('host=~host.*')]];
    const found = await open.series({ matcherSets: both, fromMs: FOREVER[0], toMs: FOREVER[1] });
    expect(found.map((labels) => labels.get('host')).sort()).to.deep.equal(hosts.sort());
    open.close();
  });

  it('lists the series that have a fresh row in the range, and all series of an overlapping segment', async () => {
    const table = await rig.table('m');
    const hosts = async (fromSeconds: number, toSeconds: number): Promise<string[]> => {
      const query = { matcherSets: [[matcher('__name__=m')]], fromMs: fromSeconds * 1000, toMs: toSeconds * 1000 };
      const open = await store.open('public', CALL, UNCOUNTED_SLOT);
      try {
        const series = (await open.series(query)).map((labels) => labels.get('host'));
        expect(await open.labelValues('host', query)).to.deep.equal(series);
        expect(await open.labelValues('__name__', query)).to.deep.equal(series.length === 0 ? [] : ['m']);
        expect((await open.labelNames(query)).length).to.equal(series.length === 0 ? 0 : 2);
        expect(await open.labelValues('__field__', query)).to.have.length(series.length === 0 ? 0 : 1);
        return series;
      } finally {
        open.close();
      }
    };
    // The distant sample widens the bounds of the memtable beyond the others.
    await rig.write(table, [row('a', 100, 1), row('b', 100, 1), row('b', 200, 2), row('far', 9_000_000_000, 1)]);
    expect(await hosts(10, 50)).to.deep.equal([]);
    expect(await hosts(100, 100)).to.deep.equal(['a', 'b']);
    expect(await hosts(101, 250)).to.deep.equal(['b']);
    expect(await hosts(101, 199)).to.deep.equal([]);
    expect(await hosts(8_999_999_999, 9_100_000_000)).to.deep.equal(['far']);
    expect(await hosts(9_000_000_001, 9_100_000_000)).to.deep.equal([]);
    expect(await hosts(250, 50)).to.deep.equal([]);
    await rig.flush(table);
    await rig.write(table, [row('new', 300, 1)]);
    expect(await hosts(10, 50)).to.deep.equal([]);
    expect(await hosts(250, 50)).to.deep.equal([]);
    expect(await hosts(101, 150)).to.deep.equal(['a', 'b']);
    expect(await hosts(250, 299)).to.deep.equal([]);
    expect(await hosts(150, 300)).to.deep.equal(['a', 'b', 'new']);
    expect(await hosts(0, 9_100_000_000)).to.deep.equal(['a', 'b', 'far', 'new']);
  });

  it('lists the series of a segment that ends where the range begins', async () => {
    const table = await rig.table('m');
    // Converted to a double, the nanoseconds of this time are slightly less than its milliseconds.
    const lastMs = 1_763_800_000_997;
    await rig.write(table, [{ host: 'x', time: BigInt(lastMs) * MS, a: 1 }]);
    await rig.flush(table);
    const open = await store.open('public', CALL, UNCOUNTED_SLOT);
    const query = { matcherSets: [], fromMs: lastMs, toMs: lastMs + 1000 };
    expect(await open.labelValues('host', query)).to.deep.equal(['x']);
    open.close();
  });

  it('returns the same rows in all parts of a query', async () => {
    const table = await rig.table('m');
    await rig.write(table, [row('x', 1, 1)]);
    const open = await store.open('public', CALL, UNCOUNTED_SLOT);
    const first = await open.select([matcher('__name__=m')], ...FOREVER);
    await rig.write(table, [row('x', 2, 2), row('new', 1, 1)]);
    await select(['__name__=m']);
    const second = await open.select([matcher('__name__=m')], ...FOREVER);
    expect(second.map(({ times }) => [...times])).to.deep.equal(first.map(({ times }) => [...times]));
    open.close();
    expect(await select(['__name__=m'])).to.have.length(2);
  });

  it('stops when its call is cancelled, and releases what it holds', async () => {
    const table = await rig.table('m');
    const hosts = Array.from({ length: 3000 }, (_, i) => row(`h${i}`, 1, i));
    await rig.write(table, hosts);
    const clock = new HurriedClock();
    const opened = await openSamples(
      rig,
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      clock,
    );
    cleanUps.push(() => opened.close());
    for (const isFlushed of [false, true]) {
      if (isFlushed) await rig.flush(table);
      const abort = new AbortController();
      const open = await opened.store.open('public', { ...CALL, signal: abort.signal }, UNCOUNTED_SLOT);
      // The rows are loaded by now, so that only the work on series yields.
      await open.state([[matcher('__name__=m')]]);
      const before = clock.yields;
      clock.onYield = () => abort.abort();
      const given = await failure(open.select([matcher('__name__=m')], ...FOREVER));
      expect(given.code).to.equal('cancelled');
      expect(clock.yields - before, 'yields after the cancellation').to.equal(1);
      clock.onYield = () => undefined;
      open.close();
    }
  });

  it('reads stored series in batches, ordered by labels', async () => {
    const table = await rig.table('m');
    // More series than are sorted or read at once, in shuffled order.
    const hosts = Array.from({ length: 5000 }, (_, i) => `h${(i * 7919) % 5000}`);
    await rig.write(
      table,
      hosts.map((host, i) => row(host, 1, i)),
    );
    await rig.flush(table);
    await rig.write(
      table,
      hosts.slice(0, 100).map((host) => row(host, 2, -1)),
    );
    const read = async (texts: readonly string[], [fromMs, toMs]: readonly [number, number]): Promise<string[]> => {
      const open = await store.open('public', CALL, UNCOUNTED_SLOT);
      const found: string[] = [];
      try {
        for await (const { labels, slice } of open.stored(texts.map(matcher), fromMs, toMs)) {
          expect(slice.isAscending).to.equal(true);
          found.push(
            `${labels.get('host')} ${Array.from(slice.times, (time, i) => `${time}:${slice.values[i]}`).join(' ')}`,
          );
        }
      } finally {
        open.close();
      }
      return found;
    };
    const expected = hosts.map((host, i) => `${host} 1000:${i}${i < 100 ? ' 2000:-1' : ''}`);
    const byHost = (a: string, b: string): number => (a.split(' ')[0] < b.split(' ')[0] ? -1 : 1);
    expect(await read(['__name__=m'], FOREVER)).to.deep.equal(expected.sort(byHost));
    const later = hosts.slice(0, 100).map((host) => `${host} 2000:-1`);
    expect(await read(['__name__=m'], [1000, 2000])).to.deep.equal(later.sort(byHost));
    expect(await read(['__name__=m', 'host=h7'], FOREVER)).to.have.length(1);
    expect(await read(['__name__=other'], FOREVER)).to.deep.equal([]);
  });
});
