import { connect } from 'node:net';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { basic } from '#test/support/as-user';
import { RecordedProgram, type CallReply, type RecordedCall } from '#test/support/recorded-calls';
import { tempFolder } from '#test/support/temp-folder';

const GO = { 'user-agent': 'Go-http-client/1.1' };
const ELASTIC = '/v1/elasticsearch';

const isElastic = ({ headers }: CallReply): unknown => expect(headers['x-elastic-product']).to.equal('Elasticsearch');

const isVersion = (reply: CallReply): void => {
  isElastic(reply);
  const { version } = reply.json() as { version: { number: string; build_flavor: string } };
  expect(version.number).to.match(/^8\.\d+\.\d+$/);
  expect(version.build_flavor).to.equal('default');
};

const isEmptyResult = (reply: CallReply): void => {
  expect(reply.json()).to.deep.equal({ results: [{ statement_id: 0 }] });
};

/** What each agent sends when it starts, and what it needs to continue. */
const CALLS: readonly (RecordedCall & { readonly agent: string })[] = [
  {
    agent: 'Vector',
    purpose: 'checks the endpoint of remote write',
    path: '/v1/prometheus/write',
    holds: ({ text }) => expect(text).to.contain('send POST'),
  },
  {
    agent: 'Vector',
    purpose: 'checks the endpoint of remote write without a body',
    method: 'HEAD',
    path: '/v1/prometheus/write',
  },
  {
    agent: 'Vector',
    purpose: 'pings InfluxDB',
    path: '/v1/influxdb/ping',
    status: 204,
    holds: ({ headers }) => expect(headers['x-influxdb-version']).to.equal('1.8.10'),
  },
  { agent: 'Vector', purpose: 'pings InfluxDB of version 2', path: '/v1/lineproto/ping', status: 204 },
  {
    agent: 'Vector',
    purpose: 'checks Loki',
    path: '/v1/loki/ready',
    holds: ({ text }) => expect(text).to.equal('ready\n'),
  },
  {
    agent: 'Vector',
    purpose: 'checks Elasticsearch',
    path: `${ELASTIC}/_cluster/health`,
    holds: (reply) => expect(reply.json()).to.include({ status: 'green', timed_out: false }),
  },
  { agent: 'Vector', purpose: 'reads the version of Elasticsearch', path: ELASTIC, holds: isVersion },
  {
    agent: 'Vector',
    purpose: 'checks the event collector',
    path: '/v1/splunk/services/collector/health/1.0',
    headers: { authorization: `Splunk agent:secret` },
    holds: (reply) => expect(reply.json()).to.deep.equal({ text: 'HEC is healthy', code: 17 }),
  },
  { agent: 'Vector', purpose: 'checks GreptimeDB', path: '/health' },
  { agent: 'Vector', purpose: 'checks GreptimeDB below its base', path: '/v1/health' },
  {
    agent: 'Telegraf',
    purpose: 'creates the database',
    path: '/v1/influxdb/query',
    form: 'q=CREATE+DATABASE+%22telegraf%22',
    holds: isEmptyResult,
  },
  {
    agent: 'Telegraf',
    purpose: 'creates the database that exists',
    path: '/v1/influxdb/query',
    form: 'q=CREATE+DATABASE+%22telegraf%22',
    holds: isEmptyResult,
  },
  {
    agent: 'Telegraf',
    purpose: 'checks Elasticsearch',
    method: 'HEAD',
    path: `${ELASTIC}/`,
    holds: (reply) => {
      isElastic(reply);
      expect(reply.text).to.equal('');
    },
  },
  { agent: 'Telegraf', purpose: 'reads the version of Elasticsearch', path: `${ELASTIC}/`, holds: isVersion },
  {
    agent: 'Telegraf',
    purpose: 'stores a template in Elasticsearch',
    method: 'PUT',
    path: `${ELASTIC}/_template/telegraf`,
    body: '{"index_patterns":["telegraf-*"],"mappings":{}}',
    headers: { 'content-type': 'application/json' },
    holds: isElastic,
  },
  { agent: 'Filebeat', purpose: 'reads the version', path: `${ELASTIC}/`, holds: isVersion },
  {
    agent: 'Filebeat',
    purpose: 'reads the license',
    path: `${ELASTIC}/_license?human=false`,
    holds: (reply) => {
      isElastic(reply);
      expect((reply.json() as { license: object }).license).to.include({ status: 'active' });
    },
  },
  {
    agent: 'Filebeat',
    purpose: 'stores a template',
    method: 'PUT',
    path: `${ELASTIC}/_index_template/filebeat-8.16.0`,
    body: '{"index_patterns":["filebeat-8.16.0"]}',
    headers: { 'content-type': 'application/json' },
    holds: isElastic,
  },
  { agent: 'Filebeat', purpose: 'looks for a policy', path: `${ELASTIC}/_ilm/policy/filebeat`, holds: isElastic },
  { agent: 'Logstash', purpose: 'reads the license', path: `${ELASTIC}/_xpack/license`, holds: isElastic },
  {
    agent: 'Logstash',
    purpose: 'stores a template',
    method: 'PUT',
    path: `${ELASTIC}/_index_template/ecs-logstash`,
    body: '{"index_patterns":["ecs-logstash-*"]}',
    headers: { 'content-type': 'application/json' },
    holds: isElastic,
  },
  {
    agent: 'Fluent Bit',
    purpose: 'sends lines to Loki without a check',
    path: '/v1/loki/loki/api/v1/push',
    body: '{"streams":[{"stream":{"job":"fluent-bit"},"values":[["1700000000000000000","line"]]}]}',
    headers: { 'content-type': 'application/json' },
    status: 204,
  },
  {
    agent: 'Fluent Bit',
    purpose: 'sends events without a check',
    path: '/v1/splunk/services/collector/event',
    body: '{"time":1700000000.5,"event":{"log":"line"}}',
    headers: { authorization: 'Splunk agent:secret' },
  },
  {
    agent: 'Fluent Bit',
    purpose: 'sends lines to InfluxDB without a check',
    path: '/v1/influxdb/write?db=public&precision=n',
    body: 'fluent,tag=a v=1 1700000000000000000',
    status: 204,
  },
  {
    agent: 'Fluent Bit',
    purpose: 'sends lines to InfluxDB of version 2 without a check',
    path: '/v1/influxdb/api/v2/write?org=any&bucket=public&precision=ns',
    body: 'fluent,tag=a v=1 1700000000000000000',
    status: 204,
  },
];

const USERS = 'agent:rw=secret\nreader:ro=secret\nlimited:rw@public=secret\n';

describe('calls of agents when they start', () => {
  for (const access of ['without users', 'with users'] as const) {
    describe(access, () => {
      let almanac: Almanac;
      let program: RecordedProgram;

      before(async () => {
        const folder = tempFolder(after);
        const file = join(folder, 'users');
        writeFileSync(file, USERS);
        const isOpen = access === 'without users';
        const environment = isOpen ? {} : { ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${file}` };
        almanac = await Almanac.start(join(folder, 'data'), { environment: { ...environment } });
        const credentials = isOpen ? {} : { authorization: basic('agent', 'secret') };
        program = new RecordedProgram(almanac.url, GO, credentials);
      });

      after(() => {
        program.close();
        return almanac.stop();
      });

      for (const { agent, ...call } of CALLS) {
        it(`${agent} ${call.purpose}`, () => program.check(call).then(() => undefined));
      }

      it('Telegraf connects to OpenTSDB', async () => {
        const { hostname, port } = new URL(almanac.url);
        await new Promise<void>((resolve, reject) => {
          const socket = connect(Number(port), hostname, () => {
            socket.destroy();
            resolve();
          });
          socket.on('error', reject);
        });
      });

      if (access === 'without users') return;

      it('Telegraf continues after 403 if its user must not create databases', async () => {
        for (const user of ['reader', 'limited']) {
          await program.check({
            purpose: user,
            path: '/v1/influxdb/query',
            form: 'q=CREATE+DATABASE+%22metrics%22',
            headers: { authorization: basic(user, 'secret') },
            status: 403,
            holds: (reply) => expect(reply.json()).to.have.property('error'),
          });
        }
      });

      it('Vector needs no token for the checks of InfluxDB and of the event collector', async () => {
        for (const [path, status] of [
          ['/v1/influxdb/ping', 204],
          ['/v1/splunk/services/collector/health/1.0', 200],
          ['/health', 200],
        ] as const) {
          expect((await program.send({ purpose: '', path }, { isAnonymous: true })).status, path).to.equal(status);
        }
      });
    });
  }
});
