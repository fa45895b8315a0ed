import { expect } from 'chai';

import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const AT_SECONDS = 1_700_000_000;
/** Enough that series of values are sorted again after the first time. */
const SERIES_PER_ROUND = 1500;
const QUERIES = 40;
const HOSTS = Array.from({ length: 30 }, (_, i) => `h${i}`);
const ZONES = ['a', 'b', 'café', ''];
const APPS = ['web', 'db'];

/** Tags of a series; null: it does not have the tag. */
interface Tags {
  readonly id: string;
  readonly host: string | null;
  readonly zone: string | null;
  readonly app: string | null;
}

/** One condition in both languages, and which series it selects. */
interface Condition {
  readonly promql: string;
  readonly passesPromql: (tags: Tags) => boolean;
  readonly sql: string;
  readonly passesSql: (tags: Tags) => boolean;
}

/** The tag that later rounds add. */
const ADDED = 'app' as const;

describe('index of series', function () {
  this.timeout(300_000);
  let cleanUp: () => void = () => undefined;
  let folder = '';
  let almanac: Almanac;
  const random = new SeededRandom(7);
  const series: Tags[] = [];

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder);
    await almanac.rows(
      'CREATE TABLE tagged (id STRING, host STRING, zone STRING, v DOUBLE, ts TIMESTAMP(0) TIME INDEX, PRIMARY KEY (id, host, zone))',
    );
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  function oneOf<T>(all: readonly T[]): T {
    return all[random.below(all.length)];
  }

  async function insert(count: number, hasApp = false): Promise<void> {
    const rows = Array.from({ length: count }, (): Tags => {
      return {
        id: '',
        host: oneOf([...HOSTS, null]),
        zone: oneOf([...ZONES, null]),
        app: hasApp ? oneOf([...APPS, null]) : null,
      };
    }).map((tags, i) => ({ ...tags, id: `s${series.length + i}` }));
    const text = (value: string | null): string => (value === null ? 'NULL' : `'${value}'`);
    const columns = ['id', 'host', 'zone', ...(hasApp ? [ADDED] : [])] as const;
    const values = rows.map((tags) => `(${columns.map((name) => text(tags[name])).join(', ')}, 1, ${AT_SECONDS})`);
    await almanac.rows(`INSERT INTO tagged (${columns.join(', ')}, v, ts) VALUES ${values.join(', ')}`);
    series.push(...rows);
  }

  function condition(name: 'host' | 'zone' | 'app' | 'id'): Condition {
    const values = { host: HOSTS, zone: ZONES, app: APPS, id: series.map(({ id }) => id) }[name];
    const one = random.below(8) === 0 ? 'none' : oneOf(values);
    const some = [one, oneOf(values), oneOf(values)];
    const list = some.map((value) => `'${value}'`).join(', ');
    const isNegated = random.below(3) === 0;
    // An absent label is an empty one in PromQL. In SQL it is null, which satisfies no comparison.
    const passing = (test: (value: string) => boolean, testSql = test): Omit<Condition, 'promql' | 'sql'> => ({
      passesPromql: (tags) => test(tags[name] ?? '') !== isNegated,
      passesSql: (tags) => tags[name] !== null && testSql(tags[name]) !== isNegated,
    });
    switch (random.below(4)) {
      case 0:
        return {
          promql: `${name}${isNegated ? '!' : '='}~"${some.join('|')}"`,
          sql: `${name} ${isNegated ? 'NOT IN' : 'IN'} (${list})`,
          ...passing((value) => some.includes(value)),
        };
      case 1:
        return {
          promql: `${name}${isNegated ? '!' : '='}~".*1.*|a.*"`,
          sql: `${isNegated ? 'NOT ' : ''}(${name} LIKE '%1%' OR ${name} LIKE 'a%')`,
          ...passing((value) => value.includes('1') || value.startsWith('a')),
        };
      default:
        return {
          promql: `${name}${isNegated ? '!=' : '='}"${one}"`,
          sql: `${name} ${isNegated ? '<>' : '='} '${one}'`,
          ...passing((value) => value === one),
        };
    }
  }

  async function promqlIds(matchers: string): Promise<string[]> {
    const query = new URLSearchParams({ query: `tagged{${matchers}}`, time: String(AT_SECONDS) });
    const { status, text } = await almanac.get(`/v1/prometheus/api/v1/query?${query.toString()}`);
    expect(status, text).to.equal(200);
    const { data } = JSON.parse(text) as { data: { result: { metric: { id: string } }[] } };
    return data.result.map(({ metric }) => metric.id).sort();
  }

  async function compareAll(): Promise<void> {
    for (let i = 0; i < QUERIES; i++) {
      const names = (
        ['host', 'zone', 'id', ...(series.some(({ app }) => app !== null) ? (['app'] as const) : [])] as const
      ).filter(() => random.below(2) === 0);
      const conditions = names.map((name) => condition(name));
      const promql = conditions.map((it) => it.promql).join(', ');
      const bySamples = series.filter((tags) => conditions.every((it) => it.passesPromql(tags))).map(({ id }) => id);
      expect(await promqlIds(promql), promql).to.deep.equal(bySamples.sort());
      const where = conditions.map((it) => it.sql).join(' AND ') || 'true';
      const byRows = series.filter((tags) => conditions.every((it) => it.passesSql(tags)));
      const rows = await almanac.rows(`SELECT id, host, zone, v FROM tagged WHERE ${where}`);
      const expected = byRows.map(({ id, host, zone }) => [id, host, zone, 1]);
      const byId = (a: unknown[], b: unknown[]): number => (String(a[0]) < String(b[0]) ? -1 : 1);
      expect(rows.sort(byId), where).to.deep.equal(expected.sort(byId));
      const counts = await almanac.rows(`SELECT zone, count(v) FROM tagged WHERE ${where} GROUP BY zone`);
      const zones = [...new Set(byRows.map(({ zone }) => zone))];
      const countOf = (zone: string | null): number => byRows.filter((tags) => tags.zone === zone).length;
      expect(counts, where).to.have.deep.members(zones.map((zone) => [zone, countOf(zone)]));
    }
  }

  async function indexedSeries(): Promise<number> {
    const { text } = await almanac.get('/metrics');
    return Number(/^almanac_querier_series_index_series (\d+)$/m.exec(text)?.[1]);
  }

  it('finds series by their tags, unflushed and flushed, and those that are added between queries', async () => {
    await insert(SERIES_PER_ROUND);
    await compareAll();
    await insert(20);
    await compareAll();
    await almanac.flush('tagged');
    await compareAll();
    await insert(SERIES_PER_ROUND);
    await compareAll();
  });

  it('finds series by a tag that was added to the table', async () => {
    await almanac.rows(`ALTER TABLE tagged ADD COLUMN ${ADDED} STRING PRIMARY KEY`);
    await insert(SERIES_PER_ROUND, true);
    await compareAll();
    await almanac.flush('tagged');
    await insert(1, true);
    await compareAll();
  });

  it('is one for SQL and PromQL', async () => {
    expect(await indexedSeries()).to.equal(series.length);
  });

  it('is read from files after a restart, at the first query that needs it', async () => {
    await almanac.kill();
    almanac = await Almanac.start(folder);
    expect(await almanac.rows('SELECT count(v) FROM tagged')).to.deep.equal([[series.length]]);
    expect(await indexedSeries()).to.equal(0);
    await compareAll();
    expect(await indexedSeries()).to.equal(series.length);
    await almanac.rows('DROP TABLE tagged');
    expect(await promqlIds('')).to.deep.equal([]);
  });
});
