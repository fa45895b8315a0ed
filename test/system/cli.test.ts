import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { ROLES } from '#shared/config/role';
import { Almanac } from '#test/support/almanac';
import { runAlmanac, type ProgramEnd, type ProgramOptions } from '#test/support/program';

/** An answer of `/v1/sql`; `rows` is the JSON text between the brackets. */
function rowsAnswer(columns: readonly string[], rows: string): string {
  const schemas = columns.map((name) => `{"name":"${name}","data_type":"Int64"}`).join(',');
  return `{"output":[{"records":{"schema":{"column_schemas":[${schemas}]},"rows":[${rows}],"total_rows":1}}],"execution_time_ms":4}`;
}

describe('almanac', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'almanac-cli-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs in a folder of its own, so that no configuration file lies around. */
  function run(args: readonly string[], options: ProgramOptions = {}): Promise<ProgramEnd> {
    return runAlmanac(args, { folder, ...options });
  }

  describe('user hash-password', () => {
    it('prints passwords as other servers do', async () => {
      const salt = ['--salt-hex', '73616c74', '--iterations', '4096'];
      const hash = async (format: string, password: string): Promise<string> => {
        const args = ['user', 'hash-password', '--password-stdin', '--format', format, ...salt];
        return (await runAlmanac(args, { folder, input: `${password}\n` })).stdout;
      };
      expect(await hash('pbkdf2_sha256', 'password')).to.equal(
        'pbkdf2_sha256:4096:73616c74:c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a\n',
      );
      expect(await hash('pg_scram_sha256', 'password')).to.equal(
        'pg_scram_sha256:4096:73616c74:945e1c466fc9932efadc23781edc5d1e78d5e10f005933652af1a6105154f084:b9bf0e811b1fb6793671c0cc3adedf7c75cd72291191092ad65878c5a02aad2c\n',
      );
      expect(await hash('mysql_native_password', '123456')).to.equal(
        'mysql_native_password:6bb4837eb74329105ee4568dda7dc67ed2ca2ad9\n',
      );
      expect(await hash('scrypt', 'password')).to.match(/^scrypt:15:73616c74:[0-9a-f]{64}\n$/);
    });

    it('refuses no password, an empty one, and a salt that is none', async () => {
      expect((await runAlmanac(['user', 'hash-password'], { folder })).code).to.equal(2);
      const hash = ['user', 'hash-password', '--password-stdin'];
      expect((await runAlmanac(hash, { folder, input: '' })).code).to.not.equal(0);
      expect((await runAlmanac([...hash, '--salt-hex', 'xyz'], { folder, input: 'pw' })).code).to.not.equal(0);
    });
  });

  describe('help and version', () => {
    it('prints help and exits with 2 when there is no command', async () => {
      const { code, stdout, stderr } = await run([]);
      expect(code).to.equal(2);
      expect(stdout + stderr)
        .to.contain('Usage: almanac')
        .and.to.contain('standalone');
    });

    it('prints help to standard output for every command, at most 80 columns wide, examples first', async () => {
      for (const args of [
        [],
        ...ROLES.map((role) => [role]),
        ...[
          ['sql'],
          ['backup'],
          ['restore'],
          ['check'],
          ['config'],
          ['config', 'print'],
          ['user'],
          ['health'],
          ['version'],
        ],
      ]) {
        const { code, stdout } = await run([...args, '--help']);
        expect(code, args.join(' ')).to.equal(0);
        expect(stdout, args.join(' ')).to.contain('Usage: almanac');
        const wide = stdout.split('\n').filter((line) => line.length > 80);
        expect(wide).to.deep.equal([]);
      }
      expect((await run(['sql', '-h'])).stdout).to.match(/^Examples:/);
    });

    it('prints its version in both forms', async () => {
      const text = /^almanac \d+\.\d+\.\d+ \(commit \w{7}, node v\d+\.\d+\.\d+, \w+-\w+\)\n$/;
      expect((await run(['--version'])).stdout).to.match(text);
      expect((await run(['-V'])).stdout).to.match(text);
      expect((await run(['version'])).stdout).to.match(text);
      const parsed = JSON.parse((await run(['version', '--json'])).stdout) as Record<string, unknown>;
      expect(parsed).to.have.all.keys('version', 'commit', 'branch', 'node', 'platform', 'arch');
    });

    it('refuses unknown flags and commands with the nearest name', async () => {
      const flag = await run(['standalone', '--http-adr', 'x']);
      expect(flag.code).to.equal(2);
      expect(flag.stderr).to.contain("unknown option '--http-adr'").and.to.contain('--http-addr');
      const foreign = await run(['metadata', '--http-addr', '127.0.0.1:0']);
      expect(foreign.code).to.equal(2);
      expect(foreign.stderr).to.contain("unknown option '--http-addr'");
      const command = await run(['standalon']);
      expect(command.code).to.equal(2);
      expect(command.stderr).to.contain('Did you mean standalone?');
      expect((await run(['standalone', 'stop'])).code).to.equal(2);
    });
  });

  describe('config', () => {
    it('prints a default file that it accepts as input', async () => {
      const { code, stdout } = await run(['config', 'default']);
      expect(code).to.equal(0);
      writeFileSync(join(folder, 'a.toml'), stdout);
      expect(await run(['config', 'check', 'a.toml'])).to.deep.equal({ code: 0, stdout: 'ok: a.toml\n', stderr: '' });
    });

    it('reports all problems and exits with 2', async () => {
      writeFileSync(join(folder, 'bad.toml'), '[http]\naddr = "x"\n[wal]\nsyncc = "none"\n');
      const { code, stdout, stderr } = await run(['config', 'check', 'bad.toml']);
      expect(code).to.equal(2);
      expect(stdout).to.equal('');
      expect(stderr).to.contain('bad.toml:2:1: http.addr = "x"').and.to.contain('did you mean "wal.sync"?');
      expect((await run(['config', 'check', 'none.toml'])).code).to.equal(2);
    });

    it('checks the user file and the certificates that it names', async () => {
      const check = async (text: string): Promise<ProgramEnd> => {
        writeFileSync(join(folder, 'files.toml'), text);
        return run(['config', 'check', 'files.toml']);
      };
      const missing = await check(
        'user_provider = "watch_file_user_provider:missing"\n[http.tls]\nmode = "require"\ncert_path = "none"\nkey_path = "none"\n',
      );
      expect(missing).to.include({ code: 2, stdout: '' });
      expect(missing.stderr).to.contain('UserProvider file must exist: "missing"');
      expect(missing.stderr).to.contain('http.tls.cert_path: the file "none" does not exist');
      expect((await check('user_provider = "/etc/almanac/users"\n')).stderr).to.contain(
        'watch_file_user_provider:PATH',
      );
      writeFileSync(join(folder, 'users'), 'root:admin=secretpass\nreader:r0=otherpass\n');
      const skipped = await check('user_provider = "watch_file_user_provider:users"\n');
      expect(skipped).to.include({ code: 0, stdout: 'ok: files.toml\n' });
      expect(skipped.stderr).to.contain('malformed line').and.contain('line=2').and.not.contain('pass=');
      expect(skipped.stderr).to.not.contain('otherpass');
    });

    it('prints where each value came from', async () => {
      writeFileSync(join(folder, 'almanac.toml'), '[http]\ntimeout = "1s"\n');
      const { stdout } = await run(['config', 'print', '--sources', '--http-addr', '127.0.0.1:4101'], {
        environment: { ALMANAC_WAL__SYNC: 'none' },
      });
      expect(stdout).to.contain('addr = "127.0.0.1:4101" # flag --http-addr\n');
      expect(stdout).to.contain('sync = "none" # environment ALMANAC_WAL__SYNC\n');
      expect(stdout).to.contain('timeout = "1s" # ./almanac.toml:2:1\n');
    });

    it('refuses to start a server with a bad configuration', async () => {
      const { code, stderr } = await run(['standalone', 'start', '--http-addr', 'nowhere']);
      expect(code).to.equal(2);
      expect(stderr).to.contain('flag --http-addr: http.addr = "nowhere": not host:port');
      const ingester = await run(['ingester', 'start', '--metadata-addr', '0.0.0.0:4031']);
      expect(ingester.code).to.equal(2);
      expect(ingester.stderr).to.contain('flag --metadata-addr: metadata.addr = "0.0.0.0:4031"');
    });
  });

  it('exits quietly when the reader of its output closes the pipe', () => {
    const program = new URL('../../../services/cli/almanac.cjs', import.meta.url).pathname;
    const { stdout, stderr } = spawnSync(
      'sh',
      ['-c', `"${process.execPath}" "${program}" config default | head -n 1`],
      {
        cwd: folder,
        encoding: 'utf8',
      },
    );
    expect(stdout.split('\n')).to.have.length(2);
    expect(stderr).to.equal('');
  });

  describe('against a server', () => {
    let server: Server;
    let url: string;
    let requests: { path: string; body: URLSearchParams; authorization: string | undefined }[];
    let answer: { status: number; body: string };

    beforeEach(async () => {
      requests = [];
      answer = { status: 200, body: '' };
      server = createServer((request, response) => {
        let body = '';
        request.setEncoding('utf8').on('data', (text: string) => (body += text));
        request.on('end', () => {
          const { authorization } = request.headers;
          requests.push({ path: request.url ?? '', body: new URLSearchParams(body), authorization });
          response.writeHead(answer.status).end(answer.body);
        });
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });

    afterEach(() => {
      server.closeAllConnections();
      server.close();
    });

    it('health exits with 0 when /ready responds with 200, and with 3 otherwise', async () => {
      expect(await run(['health', '--host', url])).to.deep.equal({ code: 0, stdout: 'ready\n', stderr: '' });
      expect(requests[0].path).to.equal('/ready');
      answer = { status: 503, body: '{"status":"starting","waiting":["wal replay"]}' };
      const waiting = await run(['health', 'gateway'], {
        environment: { ALMANAC_HTTP__ADDR: url.slice('http://'.length) },
      });
      expect(waiting.code).to.equal(3);
      expect(waiting.stderr).to.equal('not ready: 503 {"status":"starting","waiting":["wal replay"]}\n');
      server.closeAllConnections();
      server.close();
      expect((await run(['health', '--host', url])).code).to.equal(3);
    });

    it('sql reads statements from arguments, a file and standard input', async () => {
      answer = { status: 200, body: rowsAnswer(['n'], '[1]') };
      const host = ['--host', url];
      expect(await run(['sql', ...host, 'SELECT 1; SELECT 2'])).to.deep.equal({
        code: 0,
        stdout: 'n\r\n1\r\nn\r\n1\r\n',
        stderr: '',
      });
      writeFileSync(join(folder, 'a.sql'), '-- all\nSELECT 3;\n');
      await run(['sql', ...host, '-f', 'a.sql']);
      await run(['sql', ...host], { input: 'USE metrics; SELECT 4' });
      await run(['sql', ...host, '-d', 'logs', '-'], { input: 'SELECT 5' });
      expect(requests.map(({ body }) => `${body.get('db') ?? ''}: ${body.get('sql') ?? ''}`)).to.deep.equal([
        'public: SELECT 1',
        'public: SELECT 2',
        'public: -- all\nSELECT 3',
        'public: USE metrics',
        'metrics: SELECT 4',
        'logs: SELECT 5',
      ]);
    });

    it('sql writes the requested format', async () => {
      answer = { status: 200, body: rowsAnswer(['ts', 'v'], '[1700000000123456789,"a, 12"],[2.0,null]') };
      const output = async (form: string): Promise<string> => {
        return (await run(['sql', '--host', url, '-o', form, 'SELECT ts FROM t'])).stdout;
      };
      expect(await output('ndjson')).to.equal('{"ts":1700000000123456789,"v":"a, 12"}\n{"ts":2.0,"v":null}\n');
      expect(await output('json')).to.equal('[\n  {"ts":1700000000123456789,"v":"a, 12"},\n  {"ts":2.0,"v":null}\n]\n');
      expect(await output('csv')).to.equal('ts,v\r\n1700000000123456789,"a, 12"\r\n2.0,\r\n');
      expect(await output('table')).to.contain('│ 1700000000123456789 │ a, 12 │');
      expect((await run(['sql', '--host', url, '-o', 'xml', 'SELECT 1'])).code).to.equal(2);
    });

    it("sql prints the server's error: exit code 1 for a failure, 4 for missing permission", async () => {
      answer = { status: 400, body: '{"code":2000,"error":"sql parser error","execution_time_ms":0}' };
      const failed = await run(['sql', '--host', url, 'SELEC 1']);
      expect(failed).to.deep.equal({ code: 1, stdout: '', stderr: 'error: sql parser error (2000)\n' });
      answer = { status: 401, body: '{"code":7002,"error":"wrong password"}' };
      const environment = { ALMANAC_USER: 'me', ALMANAC_PASSWORD: 'hush' };
      expect((await run(['sql', '--host', url, 'SELECT 1'], { environment })).code).to.equal(4);
      expect(requests.at(-1)?.authorization).to.equal(`Basic ${Buffer.from('me:hush').toString('base64')}`);
    });

    it('sql says how to name a user, if the server requires one, and that a user needs a password', async () => {
      answer = { status: 401, body: '{"code":7003,"error":"no header"}' };
      const nameless = await run(['sql', '--host', url, 'SELECT 1']);
      expect(nameless).to.include({ code: 4 });
      expect(nameless.stderr).to.contain('no header (7003); this server has users: set --user, and ALMANAC_PASSWORD');
      const sent = requests.length;
      const blank = await run(['sql', '--host', url, '--user', 'me', 'SELECT 1']);
      expect(blank).to.include({ code: 2 });
      expect(blank.stderr).to.contain('the user "me" needs a password: set ALMANAC_PASSWORD');
      expect(requests.length).to.equal(sent);
    });

    it('sql reports a missing server and a missing statement', async () => {
      server.closeAllConnections();
      server.close();
      const { code, stderr } = await run(['sql', '--host', url, 'SELECT 1']);
      expect(code).to.equal(1);
      expect(stderr).to.equal(`error: cannot reach ${url}: ECONNREFUSED\n`);
      expect((await run(['sql', '--host', url])).code).to.equal(2);
      expect((await run(['sql', '-f', 'none.sql'])).code).to.equal(2);
    });
  });

  it('sql runs statements on a running server', async () => {
    const almanac = await Almanac.start(folder);
    const sql = (...args: string[]) => run(['sql', '--host', almanac.url, ...args]);
    expect((await sql('CREATE TABLE t (ts TIMESTAMP TIME INDEX, v DOUBLE)')).stdout).to.equal('0\n');
    expect((await sql('INSERT INTO t VALUES (1, 1.5), (2, 2.5)')).stdout).to.equal('2\n');
    expect((await sql('SELECT v FROM t ORDER BY ts')).stdout).to.equal('v\r\n1.5\r\n2.5\r\n');
    expect((await sql('-o', 'table', 'SELECT count(*) AS n FROM t')).stdout).to.contain('│ 2 │');
    const { stdout } = await sql('-o', 'table', "SELECT 1 AS n, concat('one', chr(10), '東京') AS t, 2 AS m");
    expect(stdout).to.contain('│ 1 │ one  │ 2 │\n│   │ 東京 │   │\n');
    expect((await sql('SELECT nope FROM t')).code).to.equal(1);
    expect(await almanac.stop()).to.equal(0);
  });
});
