import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000_000;

describe('PromQL over tables of line protocol', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    await almanac.sql('CREATE DATABASE other');
    await write('public', [
      `cpu,host=a,Zone=x usage=1.5,idle=3i,up=true,note="t" ${T0}`,
      `cpu,host=b usage=2.5,idle=4i,up=false ${T0}`,
      `temp,room=k value=20 ${T0 - 10_000}`,
      `temp,room=k value=21 ${T0}`,
    ]);
    await write('other', [`cpu,host=far usage=9 ${T0}`]);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function write(database: string, lines: readonly string[]): Promise<void> {
    const path = `/v1/lineproto/api/v2/write?bucket=${database}&precision=ms`;
    expect((await almanac.post(path, lines.join('\n'))).status).to.equal(204);
  }

  async function ask(path: string, parameters: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
    const { text } = await almanac.get(`/v1/prometheus/api/v1/${path}?${new URLSearchParams(parameters).toString()}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  interface Element {
    readonly metric: Readonly<Record<string, string>>;
    readonly value: readonly [number, string];
  }

  /** `host field value` of each element. */
  async function values(query: string): Promise<string[]> {
    const { data } = await ask('query', { query, time: String(T0 / 1000) });
    const { result } = data as { readonly result: readonly Element[] };
    return result.map(({ metric, value }) => `${metric['host'] ?? ''} ${metric['__field__'] ?? ''} ${value[1]}`).sort();
  }

  const gives = (query: string, expected: readonly string[]): void => {
    it(`returns ${query}`, async () => expect(await values(query)).to.deep.equal(expected));
  };

  gives('cpu', ['a idle 3', 'a up 1', 'a usage 1.5', 'b idle 4', 'b up 0', 'b usage 2.5']);
  gives('cpu{__field__="usage"}', ['a  1.5', 'b  2.5']);
  gives('cpu{__field__="usage",__field__="idle",host="a"}', ['a idle 3', 'a usage 1.5']);
  gives('cpu{__field__=~"us.*|idle",host="b"}', ['b idle 4', 'b usage 2.5']);
  gives('cpu{__field__!="usage",host="b"}', ['b idle 4', 'b up 0']);
  gives('cpu{__field__!~"u.*"}', ['a  3', 'b  4']);
  gives('cpu{__field__=~"u.*",__field__!="up"}', ['a  1.5', 'b  2.5']);
  gives('cpu{__field__="note"}', []);
  gives('cpu{__field__="usage"} + on (host) cpu{__field__="idle"}', ['a  4.5', 'b  6.5']);
  gives('sum by (__field__) (cpu)', [' idle 7', ' up 1', ' usage 4']);
  gives('{Zone="x",__field__="up"}', ['a  1']);
  gives('delta(temp[30s])', ['  1.5']);
  gives('temp{__field__="value"}', ['  21']);
  gives('cpu{__database__="other"}', ['far  9']);
  gives('cpu{__schema__="other"}', ['far  9']);
  gives('cpu{__database__="other",__schema__="public",__field__="up",host="a"}', ['a  1']);
  gives('sum(cpu{__field__="usage"}) + sum(cpu{__database__="other"})', ['  13']);
  gives('{__name__=~"cpu|temp",__database__="other"}', ['far  9']);

  it('reports a database that does not exist', async () => {
    const answer = await ask('query', { query: 'cpu{__database__="nowhere"}', time: '0' });
    expect([answer['status'], answer['warnings']]).to.deep.equal(['success', ['Database not found: nowhere']]);
  });

  for (const matcher of ['=~"other"', '!="other"', '!~"x"', '=""']) {
    it(`requires a database to be named, not ${matcher}`, async () => {
      const { errorType, error } = await ask('query', { query: `cpu{__database__${matcher}}` });
      const text =
        'invalid parameter "query": Invalid query: expected a non-empty equality matcher for \'__database__\'';
      expect([errorType, error]).to.deep.equal(['bad_data', text]);
    });
  }

  it('rounds times before 1970 down, in memory and in segments', async () => {
    for (const [table, unit] of [
      ['early_us', 1],
      ['early_ns', 1000],
    ] as const) {
      const digits = unit === 1 ? 6 : 9;
      await almanac.rows(`CREATE TABLE ${table} (v DOUBLE, ts TIMESTAMP(${digits}) TIME INDEX)`);
      const rows = [-9_999_500, -9_998_000, -400, 0, 1_999].map((micros, i) => `(${i}, ${micros * unit})`);
      await almanac.rows(`INSERT INTO ${table} (v, ts) VALUES ${rows.join(', ')}`);
      const times = async (): Promise<unknown> => {
        const { data } = await ask('query', { query: `${table}[1m]`, time: '1' });
        return (data as { readonly result: readonly { readonly values: unknown }[] }).result[0].values;
      };
      const expected = [-10, -9.998, -0.001, 0, 0.001].map((time, i) => [time, String(i)]);
      expect(await times(), table).to.deep.equal(expected);
      await almanac.flush(table);
      expect(await times(), `${table}, flushed`).to.deep.equal(expected);
    }
    for (const table of ['early_us', 'early_ns']) await almanac.rows(`DROP TABLE ${table}`);
  });

  it('reads the largest unsigned integers, in memory and in segments', async () => {
    await write('public', [`huge,host=a v=18446744073709551615u ${T0}`, `huge,host=b v=9223372036854775808u ${T0}`]);
    for (let round = 0; round < 2; round++) {
      expect(await values('huge')).to.deep.equal(['a  18446744073709552000', 'b  9223372036854776000']);
      await almanac.flush('huge');
    }
    await almanac.rows('DROP TABLE huge');
  });

  const lists = (path: string, match: string | undefined, expected: readonly string[]): void => {
    it(`lists ${path} of ${match ?? 'all'}`, async () => {
      const { data } = await ask(path, match === undefined ? {} : { 'match[]': match });
      expect(data).to.deep.equal(expected);
    });
  };
  lists('label/__database__/values', undefined, ['other', 'public']);
  lists('label/__schema__/values', 'cpu', ['other', 'public']);
  lists('label/__database__/values', 'temp', ['public']);
  lists('label/__field__/values', undefined, ['idle', 'up', 'usage', 'value']);
  lists('label/__field__/values', 'cpu{host="a"}', ['idle', 'up', 'usage']);
  lists('label/__field__/values', 'cpu{__field__=~"u.*"}', ['up', 'usage']);
  lists('label/__field__/values', 'temp', ['value']);
  lists('label/__field__/values', 'cpu{host="z"}', []);
  lists('label/__field__/values', 'cpu{__database__="other"}', ['usage']);
  lists('label/host/values', '{__database__="other"}', ['far']);
  lists('label/__name__/values', undefined, ['cpu', 'temp']);
});
