import { spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import type { Context } from 'mocha';
import { compressSync } from 'snappy';

import { decodeHistogram } from '#shared/histogram/histogram-bytes';
import { Almanac, pollUntil } from '#test/support/almanac';
import { freePort } from '#test/support/free-port';
import { bodyV1, bodyV2, type MetadataMessage, type Series } from '#test/support/remote-write-messages';
import { needPrograms } from '#test/support/prometheus';
import { tempFolder } from '#test/support/temp-folder';

const PATH = '/v1/prometheus/write';
const V2_TYPE = { 'content-type': 'application/x-protobuf;proto=io.prometheus.write.v2.Request' };
const TABLE = 'almanac_physical_table';
const T0 = 1_700_000_000_000;

type Answer = Awaited<ReturnType<Almanac['post']>>;

function packed(body: Buffer): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(compressSync(body));
}

function written({ headers }: Answer): string {
  return ['samples', 'histograms', 'exemplars']
    .map((kind) => headers.get(`x-prometheus-remote-write-${kind}-written`))
    .join(' ');
}

describe('Prometheus remote write to a process', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  beforeEach(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder);
  });

  afterEach(async () => {
    await almanac.kill();
    cleanUp();
  });

  function write(series: readonly Series[], metadata: readonly MetadataMessage[] = [], query = ''): Promise<Answer> {
    return almanac.post(PATH + query, packed(bodyV1(series, metadata)));
  }

  function write2(series: readonly Series[]): Promise<Answer> {
    return almanac.post(PATH, packed(bodyV2(series)), V2_TYPE);
  }

  /** The data of an answer of Prometheus's HTTP API. */
  async function prom(path: string): Promise<unknown> {
    const { status, text } = await almanac.get(`/v1/prometheus/api/v1/${path}`);
    expect(status, text).to.equal(200);
    return (JSON.parse(text) as { readonly data: unknown }).data;
  }

  async function rows(sql: string, database = 'public'): Promise<unknown[][]> {
    const { status, text, rows: found } = await almanac.sql(sql, { db: database });
    expect(status, text).to.equal(200);
    return found;
  }

  it('refuses a body whose version differs from its content type', async () => {
    const series = [{ labels: [['__name__', 'up']] as const, samples: [{ value: 1, timestamp: T0 }] }];
    for (const [body, headers] of [
      [bodyV1(series), V2_TYPE],
      [bodyV2(series), {}],
    ] as const) {
      const answer = await almanac.post(PATH, packed(body), headers);
      expect([answer.status, written(answer)]).to.deep.equal([400, '0 0 0']);
      expect(answer.text).to.contain('says so in its Content-Type');
    }
    expect((await almanac.post(PATH, packed(Buffer.alloc(0)), V2_TYPE)).status).to.equal(204);
  });

  it('names the limit of labels that a series exceeds', async () => {
    const wide = (metric: string, from: number, to: number): Series => {
      const own = Array.from({ length: to - from }, (_, i) => [`l${from + i}`, 'x'] as const);
      return { labels: [['__name__', metric], ...own], samples: [{ value: 1, timestamp: T0 }] };
    };
    expect((await write([wide('m', 0, 3000)])).status).to.equal(204);
    const over = await write([wide('n', 2000, 5000)]);
    expect(over.status).to.equal(400);
    const { error } = JSON.parse(over.text) as { readonly error: string };
    expect(error).to.match(
      /the metrics of database "public" would have 5001 label names, but its table "almanac_physical_table" holds 409\d/,
    );
    expect(error).to.contain('drop labels by relabelling');
    const long = await write2([wide('o', 0, 4200)]);
    expect([long.status, long.text]).to.satisfy(([status, text]: [number, string]) => {
      return status === 400 && text.includes('more than 4096 labels: series {\\"__name__\\":\\"o\\",\\"l0\\":');
    });
  });

  it('lists metrics with rows from start to end, before and after they are flushed', async () => {
    const series = (job: string, timestamp: number): Series => {
      const labels = [
        ['__name__', 'up'],
        ['job', job],
      ] as const;
      return { labels, samples: [{ value: 1, timestamp }] };
    };
    await write([series('a', 100_000), series('b', 200_000), series('far', 8.64e15)]);
    const jobs = async (range: string): Promise<unknown> => {
      const found = (await prom(`series?match[]=up&${range}`)) as { readonly job: string }[];
      expect(await prom(`label/job/values?match[]=up&${range}`)).to.deep.equal(found.map(({ job }) => job));
      expect(await prom(`labels?match[]=up&${range}`)).to.deep.equal(found.length > 0 ? ['__name__', 'job'] : []);
      return found.map(({ job }) => job);
    };
    expect(await jobs('start=10&end=50')).to.deep.equal([]);
    expect(await jobs('start=10&end=5')).to.deep.equal([]);
    expect(await jobs('start=9999999999')).to.deep.equal(['far']);
    expect(await jobs('start=100&end=150')).to.deep.equal(['a']);
    expect(await jobs('start=0')).to.deep.equal(['a', 'b', 'far']);
    await rows(`ADMIN flush_table('${TABLE}')`);
    expect(await jobs('start=10&end=50')).to.deep.equal([]);
  });

  it('keeps samples of both versions in one table, a tag for each label', async () => {
    const labels = [
      ['__name__', 'up'],
      ['Job', 'a'],
      ['job', 'b'],
    ] as const;
    const first = await write([{ labels, samples: [{ value: 1.5, timestamp: T0 }] }]);
    expect([first.status, first.text, written(first)]).to.deep.equal([204, '', '1 0 0']);
    const samples = [{ value: 2.5, timestamp: T0 + 1, start_timestamp: T0 - 9 }];
    const second = await write2([{ labels: [...labels, ['zone', 'c']], samples }]);
    expect([second.status, written(second)]).to.deep.equal([204, '1 0 0']);
    const columns = 'almanac_timestamp, almanac_value, almanac_start_timestamp, __name__, "^job", job, zone';
    const expected = [
      [T0, 1.5, null, 'up', 'a', 'b', null],
      [T0 + 1, 2.5, T0 - 9, 'up', 'a', 'b', 'c'],
    ];
    const read = (): Promise<unknown[][]> => rows(`SELECT ${columns} FROM ${TABLE} ORDER BY 1`);
    expect(await read()).to.deep.equal(expected);
    await rows(`ADMIN flush_table('${TABLE}')`);
    expect(await read()).to.deep.equal(expected);
    const [[, text]] = await rows(`SHOW CREATE TABLE ${TABLE}`);
    expect(text).to.match(/physical_metric_table = 'true'|'physical_metric_table' = 'true'/);
  });

  it('replaces a sample by a later one, whether float or histogram', async () => {
    const labels = [['__name__', 'h']] as const;
    const histograms = [
      {
        count_int: 3,
        sum: 4,
        schema: 1,
        positive_spans: [{ offset: 0, length: 1 }],
        positive_deltas: [3],
        timestamp: T0,
      },
    ];
    expect((await write([{ labels, samples: [{ value: 1, timestamp: T0 }] }])).status).to.equal(204);
    const answer = await write([{ labels, histograms }]);
    expect([answer.status, written(answer)]).to.deep.equal([204, '0 1 0']);
    await rows(`ADMIN flush_table('${TABLE}')`);
    const found = await rows(`SELECT almanac_value, hex(almanac_native_histogram) FROM ${TABLE}`);
    expect(found).to.have.length(1);
    expect(found[0][0]).to.equal(null);
    const histogram = decodeHistogram(Buffer.from(String(found[0][1]), 'hex'));
    expect(histogram).to.deep.include({ schema: 1, sum: 4, positiveBuckets: [3] });
  });

  it('keeps stale markers bit for bit, in memory and in segments', async () => {
    const body = bodyV1([{ labels: [['__name__', 'm']], samples: [{ value: Number.NaN, timestamp: T0 }] }]);
    const quiet = Buffer.from('000000000000f87f', 'hex');
    Buffer.from('020000000000f07f', 'hex').copy(body, body.indexOf(quiet));
    expect((await almanac.post(PATH, packed(body))).status).to.equal(204);
    const bits = `SELECT CAST(CAST(almanac_value AS BIT) AS VARCHAR) FROM ${TABLE}`;
    const stale = 0x7ff0000000000002n.toString(2).padStart(64, '0');
    expect(await rows(bits)).to.deep.equal([[stale]]);
    await rows(`ADMIN flush_table('${TABLE}')`);
    expect(await rows(bits)).to.deep.equal([[stale]]);
  });

  it('distinguishes values in segments that compare as equal', async () => {
    const samples = [Number.NaN, Number.NaN, Number.NaN].map((value, i) => ({ value, timestamp: T0 + i }));
    const body = bodyV1([{ labels: [['__name__', 'm']], samples }]);
    const quiet = Buffer.from('000000000000f87f', 'hex');
    Buffer.from('020000000000f07f', 'hex').copy(body, body.indexOf(quiet));
    expect((await almanac.post(PATH, packed(body))).status).to.equal(204);
    await rows(`ADMIN flush_table('${TABLE}')`);
    const bits = `SELECT CAST(CAST(almanac_value AS BIT) AS VARCHAR) FROM ${TABLE} ORDER BY almanac_timestamp`;
    const [stale, nan] = [0x7ff0000000000002n, 0x7ff8000000000000n].map((it) => it.toString(2).padStart(64, '0'));
    expect(await rows(bits)).to.deep.equal([[stale], [nan], [nan]]);

    await rows('CREATE TABLE zeros (ts TIMESTAMP TIME INDEX, v DOUBLE)');
    await rows('INSERT INTO zeros VALUES (1, 0.0), (2, -0.0), (3, 0.0)');
    await rows("ADMIN flush_table('zeros')");
    expect(await rows('SELECT v::VARCHAR FROM zeros ORDER BY ts')).to.deep.equal([['0.0'], ['-0.0'], ['0.0']]);
  });

  it('stores valid series of a request, and reports the invalid ones', async () => {
    const series = [
      { labels: [['__name__', 'm']] as const, samples: [{ value: 1, timestamp: T0 }] },
      { labels: [['a', 'b']] as const, samples: [{ value: 2, timestamp: T0 }] },
      { labels: [['__name__', 'late']] as const, samples: [{ value: 3, timestamp: 8.7e15 }] },
      {
        labels: [
          ['__name__', 'm'],
          ['__database__', 'none'],
        ] as const,
        samples: [{ value: 4, timestamp: T0 }],
      },
    ];
    for (const send of [write, write2]) {
      const answer = await send(series);
      expect([answer.status, written(answer)]).to.deep.equal([400, '1 0 0']);
      const { error } = JSON.parse(answer.text) as { error: string };
      expect(error)
        .to.match(/missing metric name: series \{"a":"b"\}/)
        .and.match(/time outside range/);
      expect(error).to.match(/Database not found: none/);
      expect(await rows(`SELECT almanac_value FROM ${TABLE}`)).to.deep.equal([[1]]);
    }
  });

  it('writes to the databases and tables that series name', async () => {
    await rows('CREATE DATABASE idc1');
    const samples = [{ value: 42, timestamp: 3000 }];
    const answer = await write(
      [
        {
          labels: [
            ['__name__', 'm2'],
            ['a', 'b'],
            ['x_greptime_database', 'idc1'],
          ],
          samples,
        },
        {
          labels: [
            ['__name__', 'm3'],
            ['__physical_table__', 'own'],
          ],
          samples,
        },
        { labels: [['__name__', 'm4']], samples },
      ],
      [],
      '?db=public&physical_table=named',
    );
    expect([answer.status, written(answer)]).to.deep.equal([204, '3 0 0']);
    expect(await rows('SELECT __name__, a, almanac_value FROM named', 'idc1')).to.deep.equal([['m2', 'b', 42]]);
    expect(await rows('SELECT __name__ FROM own')).to.deep.equal([['m3']]);
    expect(await rows('SELECT __name__ FROM named')).to.deep.equal([['m4']]);
  });

  it('keeps exemplars and metadata', async () => {
    const exemplars = [{ labels: { trace_id: 'abc' }, value: 0.5, timestamp: T0 }];
    const series = [
      {
        labels: [
          ['__name__', 'm'],
          ['A', 'b'],
        ] as const,
        samples: [{ value: 1, timestamp: T0 }],
        exemplars,
      },
    ];
    const metadata = [{ type: 1, metric_family_name: 'm', help: 'Counts.', unit: 's' }];
    expect([await prom('metadata'), await prom('query_exemplars?query=m')]).to.deep.equal([{}, []]);
    for (let time = 0; time < 2; time++) {
      const answer = await write(series, metadata);
      expect([answer.status, written(answer)]).to.deep.equal([204, '1 0 1']);
    }
    const kept = await rows('SELECT metric, series_labels, exemplar_labels, almanac_value FROM exemplars');
    expect(kept).to.have.length(2);
    expect(kept[0]).to.deep.equal(['m', { A: 'b', __name__: 'm' }, { trace_id: 'abc' }, 0.5]);
    const seconds = T0 / 1000;
    const exemplar = { labels: { trace_id: 'abc' }, value: '0.5', timestamp: seconds };
    const shown = [{ seriesLabels: { A: 'b', __name__: 'm' }, exemplars: [exemplar] }];
    expect(await prom(`query_exemplars?query=rate(m[5m])&start=${seconds}&end=${seconds}`)).to.deep.equal(shown);
    expect(await prom('query_exemplars?query={A=~"b.*"}')).to.deep.equal(shown);
    expect(await prom('query_exemplars?query=m{A="c"}')).to.deep.equal([]);
    expect(await prom(`query_exemplars?query=m&start=${seconds + 1}`)).to.deep.equal([]);
    const told = { m: [{ type: 'counter', help: 'Counts.', unit: 's' }] };
    expect(await prom('metadata')).to.deep.equal(told);
    expect(await prom('metadata?metric=m')).to.deep.equal(told);
    expect(await prom('metadata?metric=x')).to.deep.equal({});
    await almanac.kill();
    almanac = await Almanac.start(folder);
    expect((await write(series, metadata)).status).to.equal(204);
    const found = await rows('SELECT metric, type, unit, help FROM almanac_metric_metadata');
    expect(found).to.deep.equal([['m', 'counter', 's', 'Counts.']]);
  });

  it('loses no acknowledged sample by kill -9', async () => {
    const acknowledged: number[] = [];
    const target = almanac;
    let isKilled = false;
    const sender = async (first: number): Promise<void> => {
      for (let n = first; !isKilled; n += 4) {
        const series = Array.from({ length: 50 }, (_, i) => ({
          labels: [
            ['__name__', 'm'],
            ['i', String(i)],
          ] as const,
          samples: [{ value: n, timestamp: T0 + n }],
        }));
        const status = await (n % 2 === 0 ? write(series) : write2(series)).then(
          (it) => it.status,
          () => 0,
        );
        if (status === 204) acknowledged.push(n);
        if (acknowledged.length > 100 && !isKilled) {
          isKilled = true;
          await target.kill();
        }
      }
    };
    await Promise.all([0, 1, 2, 3].map(sender));
    almanac = await Almanac.start(folder);
    const found = await rows(`SELECT CAST(almanac_value AS BIGINT), count(*) FROM ${TABLE} GROUP BY 1`);
    const counts = new Map(found.map(([n, count]) => [Number(n), Number(count)]));
    for (const n of acknowledged) expect(counts.get(n), String(n)).to.equal(50);
  });

  it('stores what a real Prometheus scrapes from itself', scrapedByPrometheus);

  async function scrapedByPrometheus(this: Context): Promise<void> {
    needPrograms('prometheus').call(this);
    const port = await freePort();
    const config = {
      global: { scrape_interval: '1s', scrape_timeout: '1s' },
      scrape_configs: [{ job_name: 'self', static_configs: [{ targets: [`127.0.0.1:${port}`] }] }],
      remote_write: [
        {
          url: `${almanac.url}${PATH}`,
          send_exemplars: true,
          metadata_config: { send: true, send_interval: '1s' },
          queue_config: { batch_send_deadline: '1s' },
        },
      ],
    };
    const file = join(folder, 'prometheus.yml');
    writeFileSync(file, JSON.stringify(config));
    const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`];
    const prometheus = spawn('prometheus', [...args, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
    try {
      const count = async (sql: string): Promise<number> => Number((await almanac.sql(sql)).rows[0]?.[0] ?? 0);
      const enough = await pollUntil(performance.now() + 60_000, async () => {
        const [samples, families] = [
          await count(`SELECT count(*) FROM ${TABLE} WHERE __name__ = 'up' AND almanac_value = 1`),
          await count('SELECT count(*) FROM almanac_metric_metadata'),
        ];
        return samples >= 3 && families > 50;
      });
      expect(enough).to.equal(true);
      const [[jobs, instances, names]] = await rows(
        `SELECT count(DISTINCT job), count(DISTINCT instance), count(DISTINCT __name__) FROM ${TABLE}`,
      );
      expect([jobs, instances]).to.deep.equal([1, 1]);
      expect(Number(names)).to.be.greaterThan(100);
      const failed = await metricOf(
        `http://127.0.0.1:${port}/metrics`,
        'prometheus_remote_storage_samples_failed_total',
      );
      expect(failed).to.equal(0);
    } finally {
      await ended(prometheus);
    }
  }
});

async function metricOf(url: string, name: string): Promise<number> {
  const text = await (await fetch(url)).text();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name}{`));
  return Number(line?.split(' ').at(-1));
}

async function ended(child: ChildProcess): Promise<void> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await closed;
}
