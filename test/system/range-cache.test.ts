import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000_000;
const STEP_MS = 15_000;
const QUERIES = [
  'c_total',
  'rate(c_total[2m])',
  'sum by (job) (increase(c_total[1m]))',
  'topk(2, sum by (i) (c_total))',
  'c_total / on (i) group_left sum by (i) (g)',
  'max_over_time(sum(g)[3m:30s])',
  'g offset 1m',
  'absent(g{i="9"})',
  'plain + 1',
  'sum(plain) - sum(c_total)',
  'g @ end()',
  'rate(g[2m])',
];

/** Their series are kept between queries, and those of queries with statistics are read for each. */
const INSTANT_QUERIES = [
  'c_total',
  'increase(c_total[5m])',
  'sum by (job) (c_total)',
  'count(g)',
  'max by (i) (max_over_time(g[4m]))',
  'plain[3m]',
  'sum without (i) (sum_over_time(plain{__field__="value"}[2m]))',
];

/** Small numbers by chance, the same for the same seed. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

interface Matrix {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

describe('repeated range queries', function () {
  this.timeout(180_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function write(series: readonly Series[]): Promise<void> {
    const { status, text } = await almanac.post('/v1/prometheus/write', Uint8Array.from(compressSync(bodyV1(series))));
    expect(status, text).to.be.within(200, 204);
  }

  async function ask(query: string, startMs: number, endMs: number, stats = ''): Promise<readonly Matrix[]> {
    const parameters = { query, start: String(startMs / 1000), end: String(endMs / 1000), step: '15', stats };
    const path = `/v1/prometheus/api/v1/query_range?${new URLSearchParams(parameters).toString()}`;
    const { status, text } = await almanac.get(path);
    expect(status, text).to.equal(200);
    return (JSON.parse(text) as { readonly data: { readonly result: readonly Matrix[] } }).data.result;
  }

  /** Returns an instant result, ordered. */
  async function instant(query: string, atMs: number, stats = ''): Promise<readonly string[]> {
    const parameters = { query, time: String(atMs / 1000), stats };
    const { status, text } = await almanac.get(
      `/v1/prometheus/api/v1/query?${new URLSearchParams(parameters).toString()}`,
    );
    expect(status, text).to.equal(200);
    const { data } = JSON.parse(text) as { readonly data: { readonly result: readonly unknown[] } };
    return data.result.map((one) => JSON.stringify(one)).sort();
  }

  /** A query with statistics is computed as a whole. */
  async function expectSame(query: string, startMs: number, endMs: number): Promise<void> {
    const [kept, whole] = [await ask(query, startMs, endMs), await ask(query, startMs, endMs, 'true')];
    const about = `${query} ${startMs} ${endMs}`;
    expect(
      kept.map(({ metric }) => metric),
      about,
    ).to.deep.equal(whole.map(({ metric }) => metric));
    for (const [i, { values }] of whole.entries()) {
      expect(
        kept[i].values.map(([time]) => time),
        about,
      ).to.deep.equal(values.map(([time]) => time));
      for (const [k, [time, text]] of values.entries()) {
        const other = kept[i].values[k][1];
        if (other === text) continue;
        const near = Math.abs(Number(other) - Number(text)) <= 1e-9 * Math.abs(Number(text));
        expect(near, `${about}: ${other} in place of ${text} at ${time}`).to.equal(true);
      }
    }
  }

  it('return what a full computation would return, whatever is written meanwhile', async () => {
    const below = chance(7);
    let now = 40;
    const at = (step: number): number => T0 + step * STEP_MS;
    const metric = (name: string, i: number, step: number, value: number): Series => ({
      labels: [
        ['__name__', name],
        ['i', String(i)],
        ['job', i % 2 === 0 ? 'even' : 'odd'],
      ],
      samples: [{ value, timestamp: at(step) - 3_000 }],
    });
    const scrape = async (step: number, count: number): Promise<void> => {
      const all = Array.from({ length: count }, (_, i) => i);
      await write(
        all.flatMap((i) => [metric('c_total', i, step, 100 + step * (i + 1)), metric('g', i, step, below(50))]),
      );
      await almanac.write(all.map((i) => `plain,i=${i} value=${below(9)} ${at(step)}000000`).join('\n'));
    };
    for (let step = 0; step < now; step++) await scrape(step, 3);
    for (let round = 0; round < 150; round++) {
      switch (below(9)) {
        case 0:
          await almanac.sql("ADMIN flush_table('almanac_physical_table')");
          break;
        case 1:
          await almanac.sql("ADMIN flush_table('plain')");
          break;
        case 2:
          await write([metric('g', below(3), now - below(30), 1000 + below(50))]);
          break;
        case 3:
          await write([metric('c_total', 3 + below(5), now - below(20), below(500))]);
          break;
        case 4:
          await almanac.write(`plain,i=${below(6)} value=${below(9)},other=${below(9)} ${at(now - below(20))}000000`);
          break;
        case 5:
          if (below(12) === 0) await almanac.sql('TRUNCATE TABLE almanac_physical_table');
          else await almanac.sql(`DELETE FROM plain WHERE i = '${below(4)}' AND ts > ${at(now - 1 - below(9))}`);
          break;
        default:
          await scrape(now++, 3 + below(2));
      }
      for (const query of QUERIES) {
        if (below(3) > 0) continue;
        const end = now - below(6);
        await expectSame(query, at(end - 10 - below(25)), at(end));
      }
      // Sums are exact: all values are integers.
      for (const query of INSTANT_QUERIES) {
        const atMs = at(now - below(30)) - below(STEP_MS);
        expect(await instant(query, atMs), `${query} ${atMs} ${round}`).to.deep.equal(
          await instant(query, atMs, 'true'),
        );
      }
    }
  });
});
