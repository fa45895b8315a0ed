import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const DAY_NS = 86_400_000_000_000n;

describe('EXPLAIN', () => {
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(
      tempFolder((after) => (cleanUp = after)),
      MERGES_BY_HAND,
    );
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function flush(): Promise<void> {
    expect((await almanac.sql("ADMIN flush_table('m')")).status).to.equal(200);
  }

  /** The lines on what is read. */
  async function scan(query: string, kind = 'EXPLAIN'): Promise<string[]> {
    const { status, text, rows } = await almanac.sql(`${kind} ${query}`);
    expect(status, text).to.equal(200);
    return String(rows[0].at(-1)).split('\n');
  }

  it('prints what is pruned, merged and read', async () => {
    for (let day = 0n; day < 4n; day++) {
      const [first, second] = [day * DAY_NS, day * DAY_NS + 1n];
      await almanac.written(`m,h=h${day} a=1 ${first}\nm,h=h${day} a=2 ${second}`);
      await flush();
    }
    expect((await scan('SELECT * FROM m')).slice(0, 3)).to.deep.equal([
      'scan public.m: 4 of 4 segments',
      '  pruned: 0 by time, 0 by series',
      '  merged: 0 segments, 0 rows in memory',
    ]);
    const dayMs = Number(DAY_NS / 1_000_000n);
    const one = await scan(`SELECT * FROM m WHERE almanac_timestamp >= ${2 * dayMs}::TIMESTAMP AND h = 'h2'`);
    expect(one.slice(0, 2)).to.deep.equal(['scan public.m: 1 of 4 segments', '  pruned: 2 by time, 1 by series']);
    expect(one[3]).to.match(/^  reads: 2 rows, \d+ bytes in segments; 0 rows in memory$/);

    // A late row: that segment and the one that it replaces a row of are merged, the others are not.
    await almanac.written('m,h=h1 a=9 86400000000000\nm,h=h9 a=1 864000000000000');
    const fresh = await scan('SELECT * FROM m', 'EXPLAIN VERBOSE');
    expect(fresh[2]).to.equal('  merged: 1 segments, 2 rows in memory');
    expect(fresh.filter((line) => line.includes(': merged; 2 rows'))).to.have.length(1);
    expect(fresh.filter((line) => line.includes(': plain; 2 rows'))).to.have.length(3);
    await flush();
    expect((await scan('SELECT * FROM m'))[2]).to.equal('  merged: 2 segments, 0 rows in memory');
    expect((await scan("SELECT * FROM m WHERE h = 'h3'"))[2]).to.equal('  merged: 0 segments, 0 rows in memory');
  });

  it('returns JSON without any location of the data', async () => {
    const plans = async (kind: string, what = 'a'): Promise<unknown[]> => {
      const rows = await almanac.rows(`${kind} SELECT ${what} FROM m WHERE h = 'h2'`);
      const texts = rows.map((row) => String(row.at(-1)));
      expect(texts[1], kind).not.to.match(/parquet|memory\.main|__almanac|query_name/);
      return texts.map((text) => JSON.parse(text) as unknown);
    };
    const [reads, plan] = (await plans('EXPLAIN FORMAT JSON')) as [Record<string, string[]>, unknown[]];
    expect(reads['scans'][0]).to.equal('scan public.m: 1 of 6 segments');
    expect(JSON.stringify(plan)).to.contain('"children"');
    const run = 'EXPLAIN ANALYZE VERBOSE FORMAT json';
    for (const [what, name] of [
      ['a', 'kernels_ms'],
      ['a + 1', 'engine_ms'],
    ]) {
      const [ran, analyzed] = (await plans(run, what)) as Record<string, unknown>[];
      expect(ran['scans']).to.have.length(5);
      expect([typeof ran['snapshot_ms'], typeof ran[name]]).to.deep.equal(['number', 'number']);
      expect(Object.hasOwn(ran, 'columns')).to.equal(what === 'a');
      expect(analyzed['children']).to.have.length(1);
    }
    expect((await plans('EXPLAIN ANALYZE FORMAT JSON', 'max(DISTINCT a)'))[1], 'no operators').to.deep.equal({
      children: [],
    });
    expect((await scan('SELECT * FROM m', 'EXPLAIN FORMAT TEXT'))[0]).to.equal('scan public.m: 6 of 6 segments');
    const { text } = await almanac.sql('EXPLAIN FORMAT GRAPHVIZ SELECT * FROM m');
    expect(JSON.parse(text)).to.deep.include({
      code: 2000,
      error: "Unexpected token while parsing SQL statement, expected: 'JSON or TEXT', found: GRAPHVIZ",
    });
  });

  it('prints which segments have deletions, and durations', async () => {
    expect((await almanac.sql("DELETE FROM m WHERE h = 'h0'")).status).to.equal(200);
    await flush();
    const lines = await scan('SELECT count(*) FROM m', 'EXPLAIN ANALYZE VERBOSE');
    expect(lines.filter((line) => line.includes('with deletions'))).to.have.length(1);
    expect(lines.at(-1)).to.match(/^snapshot \d+\.\d ms, engine \d+\.\d ms$/);
  });
});
