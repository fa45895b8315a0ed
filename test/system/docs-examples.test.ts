import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';
import { readText } from '#test/tidy/tree';

const run = promisify(execFile);

interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
  /** The JSON block that follows immediately. */
  readonly response: string | undefined;
}

/** Returns the fenced blocks of a page. */
function blocksOf(page: string): Block[] {
  const text = readText(page);
  return [...text.matchAll(/^```(\w*)\n([^]*?)^```$(?=(?:\n\n```json\n([^]*?)^```$)?)/gm)].map((match) => ({
    language: match[1],
    text: match[2],
    line: text.slice(0, match.index).split('\n').length,
    response: match.at(3),
  }));
}

/** Samples that the metrics in examples of `docs/sql.md` have. */
function metricSeries(timestamp: number): Series[] {
  const histogram = { count_int: 0, sum: 0, schema: 3, zero_threshold: 0, zero_count_int: 0, timestamp };
  const labelled: [Record<string, string>, number][] = [
    [{ __name__: 'up', instance: 'a:9100', job: 'node' }, 1],
    [{ __name__: 'node:cpu:rate5m', instance: 'a:9100' }, 0.25],
    [{ __name__: 'cpu_seconds_total', host: 'a' }, 100],
  ];
  return [
    ...labelled.map(([labels, value]) => ({ labels: Object.entries(labels), samples: [{ value, timestamp }] })),
    { labels: [['__name__', 'latency_seconds']], histograms: [histogram] },
  ];
}

describe('examples of the documentation', function () {
  this.timeout(120_000);
  let almanac: Almanac;
  let cleanUp: () => void = () => undefined;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    const environment = { ALMANAC_STANDALONE__STORAGE__COPY_ROOT: `${folder}/copy` };
    almanac = await Almanac.start(folder, { environment });
    const body = Uint8Array.from(compressSync(bodyV1(metricSeries(Date.now()))));
    expect((await almanac.post('/v1/prometheus/write', body)).status).to.equal(204);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  for (const page of [
    'docs/sql.md',
    'docs/sql-types.md',
    'docs/sql-functions.md',
    'docs/sql-copy.md',
    'docs/sql-views.md',
    'docs/flows.md',
    'docs/sql-compatibility.md',
    'docs/protocols/prometheus-remote-write.md',
    'docs/formats/native-histogram.md',
  ]) {
    for (const { language, text, line } of blocksOf(page)) {
      if (language !== 'sql') continue;
      it(`${page}:${line} returns what the page shows`, async () => {
        const error = /^-- error: (.*)$/m.exec(text)?.[1];
        if (error !== undefined) {
          const { status, text: response } = await almanac.sql(text);
          expect(status, response).to.be.within(400, 499);
          expect(response).to.contain(error);
          return;
        }
        for (const [, statements = '', result] of text.matchAll(/([^]+?)(?:^-- result: (.*)\n|$(?![^]))/gm)) {
          const rows = await almanac.rows(statements);
          if (result !== undefined) expect(rows.map((row) => row.join(', ')).join('; ')).to.equal(result);
        }
      });
    }
  }

  for (const page of [
    'docs/sql.md',
    'docs/http-api.md',
    'docs/logs.md',
    'docs/promql.md',
    'docs/metrics.md',
    'docs/pipelines/README.md',
    ...['protocols', 'failures', 'multiline', 'metrics', 'tests', 'routes'].map((name) => `docs/pipelines/${name}.md`),
    ...[
      'elasticsearch',
      'influxdb-query',
      'lineproto',
      'loki',
      'loki-query',
      'otlp',
      'prometheus-http-api',
      'splunk',
      'tempo',
    ].map((name) => `docs/protocols/${name}.md`),
  ]) {
    for (const { language, text, line, response } of blocksOf(page)) {
      if (language !== 'sh' || !text.includes('curl')) continue;
      it(`${page}:${line} runs in a shell`, async () => {
        const script = `set -e\ncurl() { command curl -sS --fail-with-body "$@"; echo; }\n${text}`;
        const { stdout } = await run('sh', ['-c', script.replaceAll('http://127.0.0.1:4000', almanac.url)]);
        const comparable = (json: string): string => json.replaceAll(/\s|"execution_time_ms":\d+/g, '');
        if (response !== undefined) expect(comparable(stdout)).to.equal(comparable(response));
        // A reader who copies the example must find what it has written.
        expect(stdout).to.not.contain('"total_rows":0');
      });
    }
  }
});
