import { spawnSync } from 'node:child_process';

import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac, pollUntil, type HttpApi } from '#test/support/almanac';
import { needPrograms, startNodeExporter, startPrometheus, type PeerProgram } from '#test/support/prometheus';
import { comparePromData, type PromData } from '#test/support/prom-results';
import { CHUNKS, framesOf, readBody, remoteRead, wholeSeries } from '#test/support/remote-read-messages';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const BASE = '/v1/prometheus';
const T0 = 1_700_000_000_000;
const S0 = T0 / 1000;
const WITHIN_MS = 60_000;

/** Prometheus sometimes has an empty byte more at the end. */
function hexOf(data: Uint8Array): string {
  return Buffer.from(data)
    .toString('hex')
    .replace(/(?:00)+$/, '');
}

async function write(server: HttpApi, path: string, series: readonly Series[]): Promise<void> {
  const body = Uint8Array.from(compressSync(bodyV1(series)));
  const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' };
  const { status, text } = await server.post(path, body, headers);
  expect(status, text).to.equal(204);
}

async function query(server: HttpApi, base: string, path: string, form: Record<string, string>): Promise<PromData> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status, text } = await server.post(`${base}/api/v1/${path}`, new URLSearchParams(form).toString(), headers);
  expect(status, text).to.equal(200);
  return (JSON.parse(text) as { readonly data: PromData }).data;
}

describe('a real Prometheus', function () {
  this.timeout(180_000);
  const cleanUps: (() => unknown)[] = [];
  let almanac: Almanac;

  const folder = (): string => tempFolder((cleanUp) => cleanUps.push(cleanUp));
  const started = async (server: Promise<PeerProgram>): Promise<PeerProgram> => {
    const running = await server;
    cleanUps.push(() => running.kill());
    return running;
  };

  before(needPrograms('prometheus', 'prometheus-node-exporter', 'promtool'));
  before(async () => {
    almanac = await Almanac.start(folder());
    cleanUps.push(() => almanac.kill());
  });

  after(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  it('writes what it scrapes, and another one reads it back', async () => {
    const node = await started(startNodeExporter());
    const scraping = await started(
      startPrometheus(folder(), {
        config: (own) => ({
          global: { scrape_interval: '1s', scrape_timeout: '1s' },
          scrape_configs: [
            { job_name: 'self', static_configs: [{ targets: [own] }] },
            { job_name: 'node', static_configs: [{ targets: [node.url.slice('http://'.length)] }] },
          ],
          remote_write: [
            { url: `${almanac.url}${BASE}/write`, queue_config: { batch_send_deadline: '1s', max_shards: 1 } },
          ],
          remote_read: [{ url: `${almanac.url}${BASE}/read`, read_recent: true }],
        }),
      }),
    );
    const begin = Date.now() / 1000;
    const number = async (text: string): Promise<number> => {
      const { result } = await query(almanac, BASE, 'query', { query: text });
      return Number((result[0] as { value: [number, string] } | undefined)?.value[1] ?? 0);
    };
    const until = async (isSo: () => Promise<boolean>): Promise<void> => {
      expect(await pollUntil(performance.now() + WITHIN_MS, isSo)).to.equal(true);
    };
    await until(async () => (await number('min(count_over_time(up[5m]))')) >= 15);
    const end = Math.floor(Date.now() / 1000);
    // What was scraped before this has come too: it is sent in order.
    await until(async () => (await number('min(timestamp(up))')) > end + 1);
    const range = { start: String(Math.ceil(begin) + 0.4637), end: String(end + 0.4637), step: '1' };
    // A database without data of its own, and one that has both.
    const reading = await started(
      startPrometheus(folder(), {
        config: () => ({ remote_read: [{ url: `${almanac.url}${BASE}/read`, read_recent: true }] }),
      }),
    );
    for (const text of [
      'up',
      'rate(node_cpu_seconds_total[6s])',
      'sum by (mode) (increase(node_cpu_seconds_total{mode=~"idle|user|system"}[7s]))',
      'node_memory_MemTotal_bytes / 1024',
      'histogram_quantile(0.9, sum by (le, handler) (rate(prometheus_http_request_duration_seconds_bucket[10s])))',
      'prometheus_tsdb_head_series',
      'topk(3, {__name__=~"go_.*", job="self"})',
      'count({job="node"})',
    ]) {
      const own = await query(almanac, BASE, 'query_range', { query: text, ...range });
      expect(own.result, text).to.not.have.length(0);
      for (const server of [scraping, reading]) {
        const theirs = await query(server, '', 'query_range', { query: text, ...range });
        expect(comparePromData(theirs, own), `${text} ${JSON.stringify(range)}`).to.equal('');
      }
    }
  });

  it('reads what only Almanac has', async () => {
    const times = Array.from({ length: 240 }, (_, i) => T0 + i * 15_000);
    await write(almanac, `${BASE}/write`, [
      ...['a', 'b'].map((host, n) => ({
        labels: [
          ['__name__', 'only_here'],
          ['host', host],
        ] as const,
        samples: times.map((timestamp, i) => ({ value: (n + 1) * i, timestamp })),
      })),
    ]);
    const remote_read = [{ url: `${almanac.url}${BASE}/api/v1/read`, read_recent: true }];
    const reading = await started(startPrometheus(folder(), { config: () => ({ remote_read }) }));
    const range = { start: String(S0 + 7.3), end: String(S0 + 3700.3), step: '61' };
    for (let time = 0; time < 2; time++) {
      for (const text of [
        'only_here',
        'sum(rate(only_here[5m]))',
        'only_here{host!="a"} - ignoring(host) only_here{host=~"a|c"}',
        'max_over_time(only_here[10m] offset 3m)',
        'absent(only_here{host="c"})',
      ]) {
        const own = await query(almanac, BASE, 'query_range', { query: text, ...range });
        expect(own.result, text).to.not.have.length(0);
        const theirs = await query(reading, '', 'query_range', { query: text, ...range });
        expect(comparePromData(theirs, own), text).to.equal('');
      }
      await almanac.sql("ADMIN flush_table('almanac_physical_table')");
    }
  });

  it('streams the same chunks, byte for byte, of the same samples', async () => {
    const flags = ['--web.enable-remote-write-receiver', '--enable-feature=native-histograms'];
    const reference = await started(startPrometheus(folder(), { flags }));
    const times = Array.from({ length: 100 }, (_, i) => T0 + i * 15_000 + (i % 7 === 0 ? i * 13 : 0));
    const values = [(i: number) => i, (i: number) => Math.sin(i), (i: number) => 1e9 / (i + 1), () => 3.25];
    const integers = times.map((timestamp, i) => ({
      ...{ count_int: 7 * i + 4, sum: i * 1.7, schema: 3, zero_threshold: 2 ** -20, zero_count_int: 2 * i, timestamp },
      ...{ positive_spans: [1, 2].map((length) => ({ offset: length, length })), positive_deltas: [i + 1, i, -i] },
      ...{ negative_spans: [{ offset: -5, length: 2 }], negative_deltas: [i + 1, -i - 1] },
    }));
    const doubles = times.map((timestamp, i) => ({
      ...{ count_float: 2.5 * i + 2.5, sum: i / 3, schema: -1, zero_threshold: 0.3, timestamp },
      ...{ positive_spans: [{ offset: 9, length: 2 }], positive_counts: [i + 1, 1.5 * i + 1.5] },
    }));
    const series = [
      ...values.map((value, n) => ({
        labels: [
          ['__name__', 'stream'],
          ['n', String(n)],
        ] as const,
        samples: times.map((timestamp, i) => ({ value: value(i), timestamp })),
      })),
      { labels: [['__name__', 'stream_d']] as const, histograms: doubles },
      { labels: [['__name__', 'stream_i']] as const, histograms: integers },
    ];
    await write(almanac, `${BASE}/write`, series);
    await write(reference, '/api/v1/write', series);
    const body = readBody([{ from: 0, to: 1e15, matchers: ['__name__=~stream.*'] }], [CHUNKS]);
    const chunks = async (answer: ReturnType<typeof remoteRead>): Promise<unknown[]> =>
      framesOf((await answer).body).map(({ query: at, labels, chunks: all }) => {
        return [at, labels, all.map(({ min, max, type, data }) => [min, max, type, hexOf(data)])];
      });
    const theirs = await chunks(remoteRead(reference, body, '/api/v1/read'));
    expect(theirs).to.have.length(series.length);
    expect(await chunks(remoteRead(almanac, body))).to.deep.equal(theirs);
    const whole = readBody([{ from: T0 + 15_000, to: T0 + 45_000, matchers: ['__name__=~stream.*'] }]);
    const [read] = wholeSeries((await remoteRead(almanac, whole)).body);
    const [expected] = wholeSeries((await remoteRead(reference, whole, '/api/v1/read')).body);
    expect(read.map(({ labels, samples }) => [labels, samples])).to.deep.equal(
      expected.map(({ labels, samples }) => [labels, samples]),
    );
    for (const [i, { histograms }] of expected.entries()) {
      for (const [at, histogram] of histograms.entries()) {
        expect(read[i].histograms[at]).to.deep.include({ ...(histogram as object), reset_hint: 0 });
      }
    }
  });

  it('is queried by promtool in the same way', async () => {
    const samples = Array.from({ length: 9 }, (_, i) => ({ value: i, timestamp: T0 + i * 15_000 }));
    const hosts = ['x', 'y'].map((host) => {
      return { labels: [['__name__', 'tool'] as const, ['host', host] as const], samples };
    });
    await write(almanac, `${BASE}/write`, hosts);
    const promtool = (...args: readonly string[]): string => {
      const { stdout, stderr } = spawnSync('promtool', ['query', ...args], { encoding: 'utf8' });
      return stdout + stderr;
    };
    const server = almanac.url + BASE;
    const window = [`--start=${S0}`, `--end=${S0 + 120}`];
    expect(
      promtool('instant', `--time=${S0 + 60}`, server, 'sum by (host) (tool)')
        .split('\n')
        .sort(),
    ).to.deep.equal(['', `{host="x"} => 4 @[${S0 + 60}]`, `{host="y"} => 4 @[${S0 + 60}]`]);
    expect(promtool('range', ...window, '--step=60s', server, 'tool{host="x"}')).to.equal(
      `tool{host="x"} =>\n0 @[${S0}]\n4 @[${S0 + 60}]\n8 @[${S0 + 120}]\n`,
    );
    expect(promtool('series', ...window, '--match=tool', server)).to.equal(
      '{__name__="tool", host="x"}\n{__name__="tool", host="y"}\n',
    );
    expect(promtool('labels', ...window, server, 'host')).to.contain('x\ny\n');
    expect(promtool('instant', server, 'sum(')).to.contain('bad_data: invalid parameter "query"');
  });
});
