import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac, pollUntil } from '#test/support/almanac';
import { needPrograms } from '#test/support/prometheus';
import { tempFolder } from '#test/support/temp-folder';

interface Point {
  readonly metric: string;
  readonly timestamp: number;
  readonly value: number;
  readonly tags: Readonly<Record<string, string>>;
}

/** Points that were sent in a request, and the status of the reply. */
interface Sent {
  readonly points: readonly Point[];
  readonly status: number;
}

const WAIT_MS = 60_000;
const METRICS_COMPARED = 30;
const FEW_PLUGINS = [
  'timex',
  'checks',
  'idlejitter',
  'tc',
  'diskspace',
  'cgroups',
  'statsd',
  'apps',
  'netdata monitoring',
];

/** Forwards requests below `/v1/opentsdb`, since the path of netdata is fixed, and records them. */
async function startProxy(almanac: Almanac, sent: Sent[]): Promise<Server> {
  const proxy = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      const headers = { 'content-type': request.headers['content-type'] ?? '' };
      const { status, text } = await almanac.post(`/v1/opentsdb${request.url ?? ''}`, body, headers);
      sent.push({ points: JSON.parse(body) as Point[], status });
      response.writeHead(status).end(text);
    })();
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}

function startNetdata(folder: string, port: number): ChildProcess {
  for (const name of ['cache', 'lib', 'log']) mkdirSync(join(folder, name));
  const directories = ['cache', 'lib', 'log'].map((name) => `  ${name} = ${join(folder, name)}`);
  const lines = [
    ...['[global]', '  hostname = testhost', `  run as user = ${userInfo().username}`],
    ...['[directories]', `  config = ${folder}`, ...directories],
    ...['[db]', '  mode = ram', '[web]', '  mode = none', '[ml]', '  enabled = no', '[health]', '  enabled = no'],
    ...['[plugins]', '  enable running new plugins = no', ...FEW_PLUGINS.map((name) => `  ${name} = no`)],
  ];
  writeFileSync(join(folder, 'netdata.conf'), lines.join('\n'));
  const exporting = [
    ...['[exporting:global]', '  enabled = yes', '[opentsdb:http:almanac]', '  enabled = yes'],
    ...[`  destination = 127.0.0.1:${port}`, '  update every = 1', '  data source = average', '  prefix = netdata'],
  ];
  writeFileSync(join(folder, 'exporting.conf'), exporting.join('\n'));
  return spawn('netdata', ['-D', '-c', join(folder, 'netdata.conf')], { stdio: 'ignore' });
}

describe('netdata, which exports to OpenTSDB', () => {
  before(needPrograms('netdata'));

  it('writes its metrics, all of which are there', async () => {
    const almanac = await Almanac.start(tempFolder(after));
    const sent: Sent[] = [];
    const proxy = await startProxy(almanac, sent);
    const netdata = startNetdata(tempFolder(after), (proxy.address() as AddressInfo).port);
    try {
      const full = (): Sent[] => sent.filter(({ points }) => points.length > 0);
      expect(await pollUntil(performance.now() + WAIT_MS, () => Promise.resolve(full().length >= 3))).to.equal(true);
    } finally {
      const ended = once(netdata, 'exit');
      netdata.kill('SIGKILL');
      await ended;
      proxy.close();
    }
    const points = sent.flatMap((request) => request.points);
    expect(new Set(sent.filter((request) => request.points.length > 0).map(({ status }) => status))).to.deep.equal(
      new Set([204]),
    );
    const metrics = [...new Set(points.map(({ metric }) => metric))].slice(0, METRICS_COMPARED);
    expect(metrics.length).to.be.greaterThan(0);
    for (const metric of metrics) {
      const rows = await almanac.rows(
        `SELECT host, epoch_ms(almanac_timestamp), almanac_value FROM "${metric}" ORDER BY almanac_timestamp`,
      );
      const own = points.filter((point) => point.metric === metric);
      expect(rows, metric).to.deep.equal(own.map(({ timestamp, value }) => ['testhost', timestamp * 1_000, value]));
    }
    await almanac.stop();
  }).timeout(2 * WAIT_MS);
});
