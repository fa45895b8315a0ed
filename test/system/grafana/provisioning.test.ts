import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import { parse } from 'yaml';

import { Almanac } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { grafanaHeaders, RecordedProgram, type RecordedCall } from '#test/support/recorded-calls';
import { spansRequest } from '#test/support/spans';
import { tempFolder } from '#test/support/temp-folder';

const FOLDER = 'deploy/grafana/provisioning';
const NOW_S = Math.floor(Date.now() / 1_000);
const RANGE_S = `start=${NOW_S - 3_600}&end=${NOW_S}`;
const TRACE = '0af7651916cd43dd8448eb211c80319c';

type Members = Readonly<Record<string, unknown>>;

interface DataSource {
  readonly name: string;
  readonly uid: string;
  readonly type: string;
  readonly access: string;
  readonly url: string;
  readonly jsonData: Members;
  readonly secureJsonData?: Readonly<Record<string, string>>;
}

interface DataSourceRef {
  readonly type: string;
  readonly uid: string;
}

interface Target {
  readonly refId: string;
  readonly expr?: string;
  readonly rawSql?: string;
  readonly query?: string;
  readonly queryType?: string;
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly datasource?: DataSourceRef;
    readonly targets?: readonly Target[];
  }[];
  readonly templating: {
    readonly list: readonly {
      readonly name: string;
      readonly type: string;
      readonly query?: string;
      readonly datasource?: DataSourceRef;
      readonly current?: { readonly value: string };
    }[];
  };
}

const read = (path: string): string => readFileSync(join(FOLDER, path), 'utf8');
const filesOf = (folder: string, ending: string): string[] =>
  readdirSync(join(FOLDER, folder)).filter((name) => name.endsWith(ending));
const form = (values: Readonly<Record<string, string>>): string => new URLSearchParams(values).toString();

const SOURCES = filesOf('datasources', '.yml').flatMap((file) => {
  const { apiVersion, datasources } = parse(read(`datasources/${file}`)) as {
    apiVersion: number;
    datasources: DataSource[];
  };
  expect(apiVersion, file).to.equal(1);
  return datasources;
});
const DASHBOARDS = filesOf('dashboards', '.json').map((file) => JSON.parse(read(`dashboards/${file}`)) as Dashboard);

/** Replaces variables as Grafana does. */
function filledIn(query: string, search: string): string {
  const values: Readonly<Record<string, string>> = {
    __rate_interval: '1m',
    __interval: '15s',
    __auto: '15s',
    timeFilter: `time >= ${NOW_S - 3_600}000ms and time <= ${NOW_S}000ms`,
    job: '.*',
    metric: 'tour_total',
    measurement: 'tour',
    field: 'value',
    service: 'shop',
    search,
  };
  return query.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (all, braced?: string, plain?: string) => {
    const name = braced ?? plain ?? '';
    expect(values, `${all} in ${query}`).to.have.property(name);
    return values[name];
  });
}

const succeeds: NonNullable<RecordedCall['holds']> = (reply) => {
  const { status } = reply.json() as { status: string };
  expect(status).to.equal('success');
};

/** Calls of `Save & test`, below the URL of the data source. */
const TESTS: Readonly<Record<string, Omit<RecordedCall, 'purpose'>>> = {
  prometheus: { path: '/api/v1/query', form: 'query=1%2B1&time=4', holds: succeeds },
  loki: { path: `/loki/api/v1/query?${form({ query: 'vector(1)+vector(1)', time: '4000000000' })}`, holds: succeeds },
  jaeger: {
    path: '/api/services',
    holds: (reply) => expect((reply.json() as { data: unknown }).data).to.be.an('array'),
  },
  tempo: { path: '/api/echo' },
  influxdb: {
    path: '/query?db=public&epoch=ms',
    form: 'q=SHOW+measurements',
    holds: (reply) => expect((reply.json() as { results: unknown[] }).results).to.have.length(1),
  },
  'info8fcc-greptimedb-datasource': {
    path: '/v1/sql',
    form: 'sql=SELECT+1',
    holds: (reply) => expect((reply.json() as { output: unknown[] }).output).to.have.length(1),
  },
};

/** Returns the call of a panel. */
function callOf(
  type: string,
  { expr = '', rawSql = '', query = '', queryType }: Target,
): Omit<RecordedCall, 'purpose'> {
  switch (type) {
    case 'prometheus':
      return {
        path: '/api/v1/query_range',
        form: form({ query: filledIn(expr, ''), start: `${NOW_S - 600}`, end: `${NOW_S}`, step: '15' }),
        holds: succeeds,
      };
    case 'loki': {
      const range = { start: `${NOW_S - 3_600}000000000`, end: `${NOW_S}000000000`, step: '15000ms' };
      return { path: `/loki/api/v1/query_range?${form({ query: filledIn(expr, 'took'), ...range })}`, holds: succeeds };
    }
    case 'jaeger': {
      if (queryType === 'dependencyGraph') return { path: `/api/dependencies?endTs=${NOW_S}000&lookback=3600000` };
      return { path: `/api/traces?limit=20&service=shop&${RANGE_S.replaceAll(/(\d{10})/g, '$1000000')}` };
    }
    case 'influxdb':
      return { path: '/query?db=public&epoch=ms', form: form({ q: filledIn(query, '') }), holds: hasNoError };
    default:
      return { path: '/v1/sql', form: form({ sql: filledIn(rawSql, '') }) };
  }
}

const hasNoError: NonNullable<RecordedCall['holds']> = (reply) => expect(reply.text).not.to.contain('"error"');

describe('files for Grafana', () => {
  let almanac: Almanac;

  before(async () => {
    const section = { ENABLE: 'true', WRITE_INTERVAL: '1s' };
    const environment = Object.fromEntries(
      Object.entries(section).map(([key, value]) => [`ALMANAC_STANDALONE__EXPORT_METRICS__${key}`, value]),
    );
    almanac = await Almanac.start(tempFolder(after), { environment });
    const json = { 'content-type': 'application/json' };
    const values = [[`${NOW_S - 60}000000000`, 'level=info took=1ms', {}]];
    const sent: readonly (readonly [string, string, object])[] = [
      ['/v1/lineproto/write?precision=s', `tour,host=a value=1 ${NOW_S - 60}\ntour_total value=1 ${NOW_S - 60}`, {}],
      ['/v1/loki/api/v1/push', JSON.stringify({ streams: [{ stream: { app: 'shop', level: 'info' }, values }] }), json],
      [
        '/v1/otlp/v1/traces',
        spansRequest([{ trace: TRACE, span: 'b7ad6b7169203331', service: 'shop', name: 'n' }]),
        json,
      ],
    ];
    for (const [path, body, headers] of sent) {
      const { status, text } = await almanac.post(path, body, { ...headers });
      expect(status, `${path} ${text}`).to.be.within(200, 299);
    }
    // The dashboard of Almanac itself reads what the server exports.
    await eventually(async () => {
      const query = '/v1/prometheus/api/v1/query?db=almanac_metrics&query=almanac_app_version';
      return (await almanac.get(query)).text.includes('"value"');
    });
  });

  after(() => almanac.stop());

  /** Sends a call as Grafana does with the settings of a data source. */
  async function check(source: DataSource, call: Omit<RecordedCall, 'purpose'>, purpose: string): Promise<void> {
    const name = source.jsonData['httpHeaderName1'] as string | undefined;
    const own = name === undefined ? {} : { [name]: source.secureJsonData?.['httpHeaderValue1'] ?? '' };
    const url = source.url.replace('$ALMANAC_URL', almanac.url);
    const program = new RecordedProgram(url, { 'user-agent': grafanaHeaders()['user-agent'], ...own });
    await program.check({ purpose, ...call }).finally(() => {
      program.close();
    });
  }

  function sourceOf(ref: DataSourceRef, { templating }: Dashboard): DataSource {
    const variable = templating.list.find(({ name }) => ref.uid === `\${${name}}`);
    const uid = variable?.current?.value ?? ref.uid;
    const source = SOURCES.find((candidate) => candidate.uid === uid);
    expect(source, `data source ${uid}`).to.have.property('type', ref.type);
    return source!;
  }

  it('have a data source of each kind, with an ID of its own', () => {
    expect(SOURCES.map(({ type }) => type)).to.include.members(Object.keys(TESTS));
    expect(new Set(SOURCES.map(({ uid }) => uid)).size).to.equal(SOURCES.length);
    for (const { url, access } of SOURCES) expect([url.split('/')[0], access]).to.deep.equal(['$ALMANAC_URL', 'proxy']);
  });

  it('refer to data sources that they have', () => {
    const uids = new Set(SOURCES.map(({ uid }) => uid));
    for (const { jsonData } of SOURCES) {
      for (const [, uid] of JSON.stringify(jsonData).matchAll(/"datasourceUid":"([^"]+)"/g)) {
        expect(uids).to.include(uid);
      }
    }
  });

  it('have a provider, and dashboards with IDs of their own', () => {
    const { apiVersion, providers } = parse(read('dashboards/almanac.yml')) as {
      apiVersion: number;
      providers: { type: string; options: { path: string } }[];
    };
    expect(apiVersion).to.equal(1);
    expect(providers).to.have.length(1);
    expect(providers[0]).to.include({ type: 'file' });
    expect(providers[0].options.path).to.equal('/etc/grafana/provisioning/dashboards');
    expect(DASHBOARDS.map(({ uid }) => uid)).to.have.members(['almanac', 'almanac-tour']);
    for (const { panels } of DASHBOARDS) expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length);
  });

  for (const source of SOURCES) {
    it(`save and test the data source "${source.name}"`, async () => {
      await check(source, TESTS[source.type], 'Save & test');
      // The plugin has its URL a second time.
      const host = source.jsonData['host'];
      if (host !== undefined) expect(host).to.equal(source.url);
    });
  }

  for (const dashboard of DASHBOARDS) {
    for (const { title, datasource, targets = [] } of dashboard.panels) {
      if (datasource === undefined) continue;
      it(`draw "${title}" of "${dashboard.title}"`, async () => {
        expect(targets).to.have.length.at.least(1);
        const source = sourceOf(datasource, dashboard);
        for (const target of targets) await check(source, callOf(source.type, target), title);
      });
    }

    it(`fill the variables of "${dashboard.title}"`, async () => {
      for (const { name, type, query = '', datasource } of dashboard.templating.list) {
        if (type !== 'query' || datasource === undefined) continue;
        const source = sourceOf(datasource, dashboard);
        const label = /^label_values\((?:.+, )?(\w+)\)$/.exec(query)?.[1] ?? '';
        const path = `/api/v1/label/${label}/values`;
        const call =
          source.type === 'prometheus' ? { path, holds: succeeds } : callOf(source.type, { refId: 'A', query });
        await check(source, call, name);
      }
    });
  }
});
