import { mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { freePort } from '#test/support/free-port';
import { sendRaw } from '#test/support/raw-http';
import { tempFolder } from '#test/support/temp-folder';

const USERS = `
# operators
root:admin=se=cret
reader:ro=readpass
writer:wo=writepass
metrics:rw@metrics|public=scoped
hashed=pbkdf2_sha256:4096:73616c74:c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a
scram=pg_scram_sha256:4096:73616c74:945e1c466fc9932efadc23781edc5d1e78d5e10f005933652af1a6105154f084:b9bf0e811b1fb6793671c0cc3adedf7c75cd72291191092ad65878c5a02aad2c
mysql=mysql_native_password:6bb4837eb74329105ee4568dda7dc67ed2ca2ad9
this line is malformed
`;

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const ROOT = basic('root', 'se=cret');
const READER = basic('reader', 'readpass');
const WRITER = basic('writer', 'writepass');
const SCOPED = basic('metrics', 'scoped');

describe('users', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let cleanUpOpen: () => void = () => undefined;
  let almanac: Almanac;
  let file: string;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    file = join(folder, 'users');
    writeFileSync(file, USERS);
    const environment = {
      ALMANAC_STANDALONE__USER_PROVIDER: `watch_file_user_provider:${file}`,
      ALMANAC_STANDALONE__AUTH__ADMIN: 'required',
    };
    almanac = await Almanac.start(join(folder, 'data'), { environment });
    for (const database of ['metrics', 'other']) await sql(`CREATE DATABASE ${database}`, ROOT);
    for (const database of ['public', 'metrics', 'other']) {
      await send('POST', `/v1/lineproto/write?db=${database}`, ROOT, 'cpu,host=a usage=1 1000000000');
    }
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
    cleanUpOpen();
  });

  interface Answer {
    readonly status: number;
    readonly text: string;
    readonly headers: Headers;
  }

  async function send(
    method: string,
    path: string,
    authorization?: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const all = authorization === undefined ? headers : { ...headers, authorization };
    const response = await fetch(almanac.url + path, { method, headers: all, body: body ?? null });
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  const sql = (text: string, authorization: string, database = 'public'): Promise<Answer> => {
    return send('GET', `/v1/sql?db=${database}&sql=${encodeURIComponent(text)}`, authorization);
  };
  const codeOf = ({ text }: Answer): unknown => (JSON.parse(text) as { code?: number }).code;

  it('refuses every path under /v1 without credentials, but those of probes', async () => {
    const paths = [
      ['GET', '/v1/sql?sql=SELECT+1'],
      ['POST', '/v1/promql'],
      ['GET', '/v1/prometheus/api/v1/query?query=up'],
      ['POST', '/v1/prometheus/write'],
      ['POST', '/v1/prometheus/read'],
      ['POST', '/v1/lineproto/write'],
      ['POST', '/v1/influxdb/api/v2/write'],
      ['GET', '/v1/influxdb/query?q=SHOW+DATABASES'],
      ['POST', '/v1/otlp/v1/metrics'],
      ['POST', '/v1/loki/api/v1/push'],
      ['GET', '/v1/logpush/api/v1/labels'],
      ['POST', '/v1/splunk/services/collector'],
      ['POST', '/v1/eventcollector/services/collector/event'],
      ['POST', '/v1/opentsdb/api/put'],
      ['POST', '/v1/elasticsearch/_bulk'],
      ['GET', '/v1/elasticsearch/'],
      ['GET', '/v1/jaeger/api/services'],
      ['POST', '/v1/ingest'],
      ['GET', '/v1/pipelines'],
      ['GET', '/v1/logs'],
      ['GET', '/v1/logs/tail'],
      ['GET', '/v1/healthz'],
      ['GET', '/v1/nothing'],
      ['GET', '/v1//sql?sql=SELECT+1'],
      ['GET', '/v1/%73ql?sql=SELECT+1'],
      ['GET', '/v1/../v1/sql?sql=SELECT+1'],
    ];
    for (const [method, path] of paths) {
      const { status, text } = await send(method, path);
      expect([401, 404], `${method} ${path}: ${text}`).to.include(status);
      if (status === 404) expect(text, path).to.not.contain('records');
    }
    for (const path of [
      '/health',
      '/ready',
      '/v1/health',
      '/v1/influxdb/ping',
      '/v1/splunk/services/collector/health',
    ]) {
      expect((await send('GET', path)).status, path).to.be.oneOf([200, 204]);
    }
  });

  it('refuses the administration without an administrator', async () => {
    for (const path of ['/config', '/status', '/debug/log_level', '/debug/prof/mem/status']) {
      expect((await send('GET', path)).status, path).to.equal(401);
      expect((await send('GET', path, READER)).status, path).to.equal(403);
      expect((await send('GET', path, ROOT)).status, path).to.equal(200);
    }
    expect((await send('GET', '/metrics')).status).to.equal(200);
    const { text } = await send('GET', '/config', ROOT);
    expect(text).to.contain('watch_file_user_provider');
  });

  it('opens no data with the administration, however a path is spelled', async () => {
    const folder = tempFolder((remove) => (cleanUpOpen = remove));
    const open = await Almanac.start(join(folder, 'data'), {
      environment: {
        ALMANAC_STANDALONE__USER_PROVIDER: 'static_user_provider:cmd:root=pw',
        ALMANAC_STANDALONE__AUTH__ADMIN: 'open',
      },
    });
    try {
      expect((await sendRaw(open.url, 'GET /status')).status).to.equal(200);
      for (const path of [
        '/v1\\sql',
        '/v1\\sql#',
        '\\v1\\sql',
        '/\\v1/sql',
        '//v1/sql',
        '/V1/sql',
        '/%76%31/sql',
        '/v1%5csql',
      ]) {
        for (const target of [
          `${path}?sql=SHOW+DATABASES`,
          `${path}?sql=SHOW+DATABASES&x=#`,
          `${path}?sql=SHOW+DATABASES&x=\u00a0`,
        ]) {
          const { status, body } = await sendRaw(open.url, `GET ${target}`);
          expect([400, 401, 404], `${target}: ${body}`).to.include(status);
        }
      }
    } finally {
      await open.kill();
    }
  });

  it('says why credentials are refused', async () => {
    const cases: [string | undefined, number, string][] = [
      [undefined, 7003, 'Not found http or grpc authorization header'],
      ['Basic', 7004, 'Invalid http authorization header'],
      ['Digest abc', 7004, 'Unsupported http auth scheme, name: digest'],
      ['Basic !!!', 7004, 'Invalid base64 value'],
      [`Basic ${Buffer.from('nocolon').toString('base64')}`, 7004, 'Invalid http authorization header'],
      [`Basic ${Buffer.from([0xff, 0x3a, 0x61]).toString('base64')}`, 7004, 'Invalid utf-8 value'],
      [basic('', 'x'), 1004, 'Illegal param: blank username'],
      [basic('root', ''), 1004, 'Illegal param: blank password'],
      [basic('bob', 'x'), 7000, 'User not found, username: bob'],
      ['Bearer abc', 7002, 'Unsupported authentication method: bearer token'],
      [basic('mysql', '123456'), 7002, 'Username and password does not match, username: mysql'],
    ];
    for (const [authorization, code, error] of cases) {
      const answer = await send('GET', '/v1/sql?sql=SELECT+1', authorization);
      expect(answer.status, error).to.equal(401);
      expect(JSON.parse(answer.text), error).to.include({ code, error });
      expect(answer.headers.get('www-authenticate')).to.equal('Basic realm="almanac"');
    }
    const script = await send('GET', '/v1/sql?sql=SELECT+1', undefined, undefined, {
      'x-requested-with': 'XMLHttpRequest',
    });
    expect(script.headers.get('www-authenticate')).to.equal(null);
  });

  it('takes credentials in every way of the protocols', async () => {
    const line = 'cpu,host=b usage=2 2000000000';
    const ways: [string, Record<string, string>][] = [
      ['/v1/influxdb/write?u=writer&p=writepass', {}],
      ['/v1/lineproto/write?u=root&p=se%3Dcret', {}],
      ['/v1/influxdb/write', { authorization: 'Token writer:writepass' }],
      ['/v1/influxdb/api/v2/write', { authorization: 'token writer:writepass' }],
      ['/v1/influxdb/write', { authorization: WRITER }],
      ['/v1/influxdb/write', { 'x-greptime-auth': WRITER, authorization: 'Basic bad' }],
      ['/v1/influxdb/write', { 'x-almanac-auth': WRITER }],
    ];
    for (const [path, headers] of ways) {
      const { status, text } = await send('POST', path, undefined, line, headers);
      expect(status, `${path} ${text}`).to.equal(204);
    }
    const event = await send('POST', '/v1/splunk/services/collector', 'Splunk writer:writepass', '{"event":"a"}');
    expect(event.text).to.equal('{"text":"Success","code":0}');
    for (const [user, password] of [
      ['hashed', 'password'],
      ['scram', 'password'],
    ]) {
      expect((await sql('SELECT 1', basic(user, password))).status, user).to.equal(200);
      expect((await sql('SELECT 1', basic(user, `${password}x`))).status, user).to.equal(401);
    }
  });

  it('refuses in the form of each protocol', async () => {
    const v1 = await send('POST', '/v1/influxdb/write', undefined, 'cpu v=1');
    expect([v1.status, v1.text]).to.deep.equal([401, '{"error":"unable to parse authentication credentials"}\n']);
    const wrong = await send('POST', '/v1/influxdb/write?u=writer&p=wrong', undefined, 'cpu v=1');
    expect([wrong.status, wrong.text]).to.deep.equal([401, '{"error":"authorization failed"}\n']);
    const v2 = await send('POST', '/v1/influxdb/api/v2/write', undefined, 'cpu v=1');
    expect(JSON.parse(v2.text)).to.include({ code: 'unauthorized', message: 'unauthorized access' });
    const missing = await send('POST', '/v1/splunk/services/collector', undefined, '{"event":"a"}');
    expect([missing.status, JSON.parse(missing.text)]).to.deep.include.members([401]);
    expect(JSON.parse(missing.text)).to.include({ text: 'Token is required', code: 2 });
    const invalid = await send('POST', '/v1/splunk/services/collector', 'Splunk writer:wrong', '{"event":"a"}');
    expect(invalid.status).to.equal(403);
    expect(JSON.parse(invalid.text)).to.include({ text: 'Invalid token', code: 4 });
    const prom = await send('GET', '/v1/prometheus/api/v1/query?query=up');
    expect(prom.status).to.equal(401);
    expect(JSON.parse(prom.text)).to.include({ status: 'error' });
    expect((await send('GET', '/v1/prometheus/api/v1/query?query=up', WRITER)).status).to.equal(403);
  });

  it('lets a user read, write or administrate by its mode', async () => {
    const write = (authorization: string): Promise<Answer> => {
      return send('POST', '/v1/lineproto/write', authorization, 'cpu,host=c usage=3 3000000000');
    };
    expect((await write(READER)).status).to.equal(403);
    expect((await write(WRITER)).status).to.equal(204);
    const cases: [string, string, number][] = [
      ['SELECT count(*) FROM cpu', READER, 200],
      ['SHOW TABLES', READER, 200],
      ["SET time_zone = 'UTC'; USE metrics; SHOW TABLES", READER, 200],
      ["TQL EVAL (0, 10, '5s') cpu", READER, 200],
      ["INSERT INTO cpu (host, almanac_timestamp, usage) VALUES ('x', 1, 1)", READER, 403],
      ['CREATE TABLE t (ts TIMESTAMP TIME INDEX)', READER, 403],
      ['DROP TABLE cpu', READER, 403],
      ['DELETE FROM cpu', READER, 403],
      ['SELECT 1; DROP TABLE cpu', READER, 403],
      ['SELECT count(*) FROM cpu', WRITER, 403],
      ['EXPLAIN ANALYZE SELECT count(*) FROM cpu', WRITER, 403],
      ['CREATE TABLE made (ts TIMESTAMP TIME INDEX, v DOUBLE)', WRITER, 200],
      ['INSERT INTO made VALUES (1, 2.5)', WRITER, 200],
      ['INSERT INTO made SELECT almanac_timestamp, usage FROM cpu', WRITER, 403],
      ['DROP TABLE made', WRITER, 200],
      ["ADMIN flush_table('cpu')", WRITER, 403],
      ["ADMIN flush_table('cpu')", ROOT, 200],
    ];
    for (const [statement, authorization, status] of cases) {
      const answer = await sql(statement, authorization);
      expect(answer.status, `${statement}: ${answer.text}`).to.equal(status);
      if (status === 403) expect(codeOf(answer), statement).to.equal(7006);
    }
    expect((await send('POST', '/v1/pipelines/p', READER, 'processors: []')).status).to.equal(403);
  });

  it('keeps a user within its databases, whatever names them', async () => {
    const allowed = await sql('SELECT count(*) FROM cpu', SCOPED, 'metrics');
    expect(allowed.status, allowed.text).to.equal(200);
    const cases: [string, string][] = [
      ['SELECT count(*) FROM cpu', 'other'],
      ['SELECT count(*) FROM other.cpu', 'metrics'],
      ['SELECT (SELECT count(*) FROM almanac.other.cpu)', 'metrics'],
      ["INSERT INTO other.cpu (host, almanac_timestamp, usage) VALUES ('x', 1, 1)", 'metrics'],
      ['DROP TABLE other.cpu', 'metrics'],
      ['DROP DATABASE other', 'metrics'],
      ['CREATE DATABASE mine', 'metrics'],
      ['USE other; SHOW TABLES', 'metrics'],
      ['SHOW TABLES FROM other', 'metrics'],
      ['SHOW CREATE DATABASE other', 'metrics'],
      ['DESCRIBE other.cpu', 'metrics'],
      ['TQL EVAL (0, 10, \'5s\') cpu{__database__="other"}', 'metrics'],
    ];
    for (const [statement, database] of cases) {
      const answer = await sql(statement, SCOPED, database);
      expect(answer.status, `${statement}: ${answer.text}`).to.equal(403);
      expect(codeOf(answer), statement).to.be.oneOf([7005, 7006]);
    }
    expect((await sql('SHOW DATABASES', SCOPED, 'metrics')).text)
      .to.contain('metrics')
      .and.to.not.contain('other');
    const prom = await send(
      'GET',
      '/v1/prometheus/api/v1/query?db=metrics&query=cpu%7B__database__%3D%22other%22%7D',
      SCOPED,
    );
    expect(prom.status, prom.text).to.equal(403);
    const write = await send('POST', '/v1/lineproto/write?db=other', SCOPED, 'cpu,host=d usage=4 4000000000');
    expect(write.status, write.text).to.equal(403);
    const logs = await send('GET', '/v1/logs?table=other.cpu&db=metrics', SCOPED);
    expect(logs.status, logs.text).to.be.oneOf([400, 403]);
  });

  it('shows a user nothing of other databases by the APIs of other products', async () => {
    const text = encodeURIComponent;
    const own = [
      `/v1/influxdb/query?db=metrics&q=${text('SHOW DATABASES')}`,
      '/v1/influxdb/api/v2/buckets',
      '/v1/prometheus/api/v1/label/__database__/values?db=metrics',
      `/v1/influxdb/query?db=metrics&q=${text('SHOW MEASUREMENTS')}`,
    ];
    for (const path of own) {
      const answer = await send('GET', path, SCOPED);
      expect(answer.status, `${path}: ${answer.text}`).to.equal(200);
      expect(answer.text.replaceAll('measurements', ''), path).to.match(/"(metrics|cpu)"/);
      expect(answer.text, path).to.not.contain('other');
    }
    expect((await send('GET', own[0], ROOT)).text).to.contain('other');
    const hidden = [
      `/v1/influxdb/query?db=other&q=${text('SHOW MEASUREMENTS')}`,
      `/v1/influxdb/query?db=metrics&q=${text('SHOW FIELD KEYS ON other')}`,
      `/v1/influxdb/query?db=metrics&q=${text('SHOW RETENTION POLICIES ON other')}`,
      '/v1/loki/api/v1/labels?db=other',
      '/v1/jaeger/api/services?db=other',
      '/v1/logs?table=cpu&db=other',
      '/v1/logs?db=other',
    ];
    for (const path of hidden) {
      const answer = await send('GET', path, SCOPED);
      expect(answer.text, path).to.contain("Access denied for user 'metrics' to database 'other'");
      expect(answer.text, path).to.not.contain('usage');
    }
    const names = await send('GET', `/v1/influxdb/query?db=public&q=${text('SHOW MEASUREMENTS')}`, WRITER);
    expect(names.text).to.contain('not authorized').and.to.not.contain('cpu');
  });

  it('slows down guesses, and takes the right password at once afterwards', async () => {
    const guess = (i: number): Promise<Answer> => sql('SELECT 1', basic('reader', `guess${i}`));
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => guess(i)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses).to.include(401).and.to.include(429);
    expect((await sql('SELECT 1', READER)).status).to.equal(200);
  });

  it('reads a changed user file, and keeps the users of one that is not usable', async () => {
    writeFileSync(file, `${readFileSync(file, 'utf8')}\nlate=comer\n`);
    await eventually(async () => (await sql('SELECT 1', basic('late', 'comer'))).status === 200);
    writeFileSync(file, '# empty\n');
    await eventually(() => almanac.stderr.includes('user file not usable'));
    expect((await sql('SELECT 1', basic('late', 'comer'))).status).to.equal(200);
  });

  it('logs once that the user file cannot be read', async () => {
    const users = readFileSync(file, 'utf8');
    rmSync(file);
    mkdirSync(file);
    await eventually(() => almanac.stderr.includes('EISDIR'));
    rmdirSync(file);
    writeFileSync(file, `${users}\nagain=there\n`);
    await eventually(async () => (await sql('SELECT 1', basic('again', 'there'))).status === 200);
    expect(almanac.stderr.split('EISDIR')).to.have.length(2);
  });

  it('logs no password', () => {
    expect(almanac.stderr).to.contain('malformed line of the user file');
    for (const secret of ['se=cret', 'readpass', 'writepass', 'this line is malformed', 'guess1']) {
      expect(almanac.stderr, secret).to.not.contain(secret);
    }
    expect(almanac.stderr).to.contain('"component":"audit"').and.to.contain('CREATE DATABASE metrics');
  });
});

describe('a server that other machines reach', function () {
  this.timeout(120_000);

  it('logs a warning if it has no users', async () => {
    let removeFolder: () => void = () => undefined;
    const folder = tempFolder((after) => (removeFolder = after));
    const isWarned = async (environment: Readonly<Record<string, string>>): Promise<boolean> => {
      const almanac = await Almanac.start(folder, { environment });
      expect(await almanac.stop()).to.equal(0);
      return almanac.stderr.includes('every host that reaches the HTTP listener may read and write everything');
    };
    const open = {
      ALMANAC_HTTP__ENABLE_API_SERVER: 'true',
      ALMANAC_HTTP__API_SERVER_ADDR: `0.0.0.0:${await freePort()}`,
    };
    expect(await isWarned(open)).to.equal(true);
    expect(await isWarned({ ...open, ALMANAC__USER_PROVIDER: 'static_user_provider:cmd:root=rootpass' })).to.equal(
      false,
    );
    expect(await isWarned({})).to.equal(false);
    removeFolder();
  });
});
