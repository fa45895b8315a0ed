import { spawnSync } from 'node:child_process';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { needPrograms } from '#test/support/prometheus';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000;

describe('promtool and Grafana against a process', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    const lines = [0, 30, 60].flatMap((s) => ['a', 'b'].map((host) => `up,host=${host} v=${s} ${T0 + s}`));
    expect((await almanac.write(lines.join('\n'), 'precision=s')).status).to.equal(204);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  function promtool(...args: readonly string[]): string {
    const [command, ...rest] = args;
    const server = `${almanac.url}/v1/prometheus`;
    const { stdout, stderr } = spawnSync('promtool', [
      'query',
      command,
      ...rest.slice(0, -1),
      server,
      rest.at(-1) ?? '',
    ]);
    return `${stdout.toString()}${stderr.toString()}`;
  }

  it('get their queries answered', function () {
    needPrograms('promtool').call(this);
    const at = `--time=${T0 + 60}`;
    expect(promtool('instant', at, 'sum(up)')).to.equal(`{} => 120 @[${T0 + 60}]\n`);
    expect(promtool('instant', at, 'sum(')).to.contain('bad_data: invalid parameter "query": 1:5: parse error');
    const range = promtool('range', `--start=${T0}`, `--end=${T0 + 60}`, '--step=30s', 'up{host="b"}');
    expect(range).to.equal(`up{host="b"} =>\n0 @[${T0}]\n30 @[${T0 + 30}]\n60 @[${T0 + 60}]\n`);
    expect(promtool('labels', `--start=${T0}`, `--end=${T0 + 60}`, 'host')).to.equal('a\nb\n');
  });

  it("find nothing wrong with Almanac's own metrics", async function () {
    needPrograms('promtool').call(this);
    expect((await almanac.write('m f=1', 'db=nowhere')).status).to.equal(404);
    const { text } = await almanac.get('/metrics');
    expect(text).to.contain('almanac_servers_error_total{protocol="lineproto"} 1');
    expect(text).to.contain('almanac_nodejs_active_handles{');
    const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text });
    // Their names are those that dashboards of GreptimeDB read.
    const isKept = (line: string): boolean => /^almanac_catalog_(catalog|schema)_count .*"_count" suffix$/.test(line);
    const lines = `${stdout.toString()}${stderr.toString()}`.split('\n');
    expect(lines.filter((line) => line !== '' && !isKept(line))).to.deep.equal([]);
  });

  it('get the metadata that a data source requests', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const path = '/v1/prometheus/api/v1';
    const data = async (answer: Promise<{ status: number; text: string }>): Promise<unknown> => {
      const { status, text } = await answer;
      expect(status, text).to.equal(200);
      return (JSON.parse(text) as { readonly data: unknown }).data;
    };
    const sum = await data(almanac.post(`${path}/query`, 'query=1%2B1&time=4', form));
    expect(sum).to.deep.equal({ resultType: 'scalar', result: [4, '2'] });
    const window = `start=${T0}&end=${T0 + 60}`;
    expect(await data(almanac.get(`${path}/label/__name__/values?${window}&limit=40000`))).to.deep.equal(['up']);
    expect(await data(almanac.get(`${path}/label/host/values?match[]=up&${window}`))).to.deep.equal(['a', 'b']);
    expect(await data(almanac.post(`${path}/labels`, window, form))).to.include.members(['__name__', 'host']);
    expect(await data(almanac.post(`${path}/series`, `match[]=up&${window}`, form))).to.deep.equal([
      { __name__: 'up', host: 'a' },
      { __name__: 'up', host: 'b' },
    ]);
    for (const probe of ['metadata?limit=5', 'query_exemplars?query=up', 'rules', 'alerts', 'status/buildinfo']) {
      expect(await data(almanac.get(`${path}/${probe}`)), probe).to.be.an.instanceOf(Object);
    }
    const missing = await almanac.get(`${path}/query?query=up&db=nowhere`);
    expect(missing.text).to.contain('"result":[]},"warnings":["Database not found: nowhere"]');
  });
});
