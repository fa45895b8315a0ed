import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { basic, rowsIn, sendAs, sqlAs, writeAs, type Answer } from '#test/support/as-user';
import { eventually } from '#test/support/conditions';
import { runAlmanac } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';

/** Of the password "password". */
const HASH = 'pbkdf2_sha256:4096:73616c74:c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a';
const ROOT = basic('root', 'rootpass');
const ENVIRONMENT = {
  ALMANAC_STANDALONE__AUTH__ADMIN: 'required',
  ALMANAC_STANDALONE__SLOW_QUERY__THRESHOLD: '0s',
  ALMANAC_STANDALONE__SLOW_QUERY__RECORD_TYPE: 'log',
};

const errorIn = ({ text }: Answer): string => (JSON.parse(text) as { error: string }).error;

/** A tail over HTTP, read as it comes. */
class OpenTail {
  text = '';
  isEnded = false;

  static async start(url: string, authorization: string): Promise<OpenTail> {
    const response = await fetch(url, { headers: { authorization } });
    expect(response.status).to.equal(200);
    const tail = new OpenTail();
    void tail.#read(response.body!);
    return tail;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    try {
      for await (const bytes of body) this.text += Buffer.from(bytes).toString();
    } catch {
      // The server closes the connection of a tail that fails.
    } finally {
      this.isEnded = true;
    }
  }
}

describe('users in SQL', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;
  let folder: string;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    writeFileSync(join(folder, 'users'), 'root:admin=rootpass\nscoped:admin@metrics=scopedpass\nshared:ro=filepass\n');
    await start();
    for (const database of ['metrics', 'other']) await changed(`CREATE DATABASE ${database}`);
    for (const database of ['public', 'metrics', 'other']) {
      expect((await writeAs(almanac, ROOT, database)).status).to.equal(204);
    }
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function start(): Promise<void> {
    const provider = { ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${join(folder, 'users')}` };
    almanac = await Almanac.start(join(folder, 'data'), {
      environment: { ...ENVIRONMENT, ...provider, ALMANAC_STANDALONE__LOGGING__LEVEL: 'debug' },
    });
  }

  const sql = (text: string, authorization = ROOT, database = 'public'): Promise<Answer> =>
    sqlAs(almanac, text, authorization, database);

  /** Runs a statement that has to succeed; returns the number of affected rows. */
  async function changed(text: string, authorization = ROOT): Promise<number> {
    const { status, text: reply } = await sql(text, authorization);
    expect(status, `${text}: ${reply}`).to.equal(200);
    return (JSON.parse(reply) as { output: [{ affectedrows: number }] }).output[0].affectedrows;
  }

  async function refused(text: string, error: RegExp, status = 400, authorization = ROOT): Promise<void> {
    const answer = await sql(text, authorization);
    expect(answer.status, `${text}: ${answer.text}`).to.equal(status);
    expect(errorIn(answer), text).to.match(error);
  }

  async function newToken(text: string): Promise<string> {
    return rowsIn(await sql(text))[0][2] as string;
  }

  it('returns known results to those alone who may read their tables', async () => {
    await changed("CREATE USER kim PASSWORD 'kimpass'; GRANT READ ON metrics.* TO kim");
    const kim = basic('kim', 'kimpass');
    const count = 'SELECT count(usage) FROM metrics.cpu';
    for (let i = 0; i < 3; i++) expect(rowsIn(await sql(count, ROOT, 'metrics'))).to.deep.equal([[1]]);
    expect(rowsIn(await sql(count, kim, 'metrics'))).to.deep.equal([[1]]);
    await changed('GRANT READ ON other.* TO kim');
    await changed('REVOKE READ ON metrics.* FROM kim');
    for (const database of ['metrics', 'other']) expect((await sql(count, kim, database)).status).to.equal(403);
    for (let i = 0; i < 3; i++) expect(rowsIn(await sql(count, ROOT, 'other'))).to.deep.equal([[1]]);
    expect((await sql(count, kim, 'other')).status).to.equal(403);
    await changed('DROP USER kim');
  });

  it('creates users without rights, and grants and revokes them per database', async () => {
    expect(await changed("CREATE USER ann PASSWORD 'annpass'")).to.equal(1);
    expect(await changed("CREATE USER IF NOT EXISTS ann WITH PASSWORD 'another'")).to.equal(0);
    const ann = basic('ann', 'annpass');
    expect((await sql('SELECT 1', basic('ann', 'another'))).status).to.equal(401);
    expect((await sql('SELECT 1', ann)).status).to.equal(403);
    expect((await writeAs(almanac, ann)).status).to.equal(403);

    expect(await changed('GRANT READ ON metrics.* TO ann')).to.equal(1);
    expect(await changed('GRANT READ ON metrics.* TO ann')).to.equal(0);
    const count = 'SELECT count(*) FROM cpu';
    expect(rowsIn(await sql(count, ann, 'metrics'))).to.deep.equal([[1]]);
    expect((await sql(count, ann, 'other')).status).to.equal(403);
    expect((await sql('SELECT count(*) FROM other.cpu', ann, 'metrics')).status).to.equal(403);
    expect((await writeAs(almanac, ann, 'metrics')).status).to.equal(403);

    await changed('GRANT WRITE ON metrics.* TO ann');
    expect((await writeAs(almanac, ann, 'metrics')).status).to.equal(204);
    await changed('REVOKE READ ON metrics.* FROM ann');
    expect((await sql(count, ann, 'metrics')).status).to.equal(403);
    expect((await writeAs(almanac, ann, 'metrics')).status).to.equal(204);
    await changed('REVOKE ALL ON metrics.* FROM ann');
    expect((await writeAs(almanac, ann, 'metrics')).status).to.equal(403);

    await changed('GRANT READ_WRITE ON *.* TO ann');
    expect(rowsIn(await sql(count, ann, 'other'))).to.deep.equal([[1]]);
    expect((await sendAs(`${almanac.url}/config`, ann)).status).to.equal(403);
    await changed('GRANT ADMIN ON *.* TO ann');
    expect((await sendAs(`${almanac.url}/config`, ann)).status).to.equal(200);
    expect(rowsIn(await sql('SHOW USERS', ann))).to.deep.equal([['ann', 1, 0]]);
    await changed('REVOKE WRITE ON *.* FROM ann');
    expect(rowsIn(await sql('SHOW GRANTS FOR ann'))).to.deep.equal([['ann', 'READ', '*.*']]);
    await changed('GRANT WRITE ON metrics.* TO ann');
    expect(rowsIn(await sql("SHOW GRANTS WHERE mode = 'WRITE'"))).to.deep.equal([['ann', 'WRITE', 'metrics.*']]);
    expect(await changed('DROP USER ann')).to.equal(1);
    expect((await sql('SELECT 1', ann)).status).to.equal(401);
    expect(await changed('DROP USER IF EXISTS ann')).to.equal(0);
    expect(rowsIn(await sql('SHOW GRANTS'))).to.deep.equal([]);
  });

  it('checks the access to tables of queries whose texts are known', async () => {
    const text = (host: string): string => `SELECT max(usage) FROM other.cpu WHERE host = '${host}'`;
    for (const host of ['a', 'b', 'a', 'c']) {
      expect(rowsIn(await sql(text(host), ROOT, 'metrics'))).to.deep.equal([[host === 'a' ? 1 : null]]);
    }
    const scoped = await sql(text('a'), basic('scoped', 'scopedpass'), 'metrics');
    expect(scoped.status).to.equal(403);
    expect(scoped.text).to.contain('"statement_index":0');
    expect(rowsIn(await sql(text('a'), ROOT, 'metrics'))).to.deep.equal([[1]]);
  });

  it('lets users change their own password, and no other', async () => {
    await changed("CREATE USER ben PASSWORD 'benpass'; CREATE USER cleo PASSWORD 'cleopass'");
    const ben = basic('ben', 'benpass');
    expect((await sql('SELECT 1', ben)).status).to.equal(403);
    expect(await changed("ALTER USER ben PASSWORD 'newpass'", ben)).to.equal(1);
    expect((await sql('SELECT 1', ben)).status).to.equal(401);
    const renewed = basic('ben', 'newpass');
    await refused("ALTER USER cleo PASSWORD 'x'", /not authorized/, 403, renewed);
    await refused("ALTER USER ben PASSWORD 'x'; SELECT 1", /Access denied/, 403, renewed);
    await refused("ALTER USER shared PASSWORD 'x'", /not authorized/, 403, basic('shared', 'filepass'));
    const token = await newToken('CREATE TOKEN FOR ben');
    await refused("ALTER USER ben PASSWORD 'x'", /not authorized/, 403, `Bearer ${token}`);
    await changed("ALTER USER ben WITH PASSWORD 'third'");
    expect((await sql("ALTER USER ben PASSWORD 'fourth'", basic('ben', 'third'))).status).to.equal(200);
    await changed('DROP USER ben; DROP USER cleo');
  });

  it('accepts hashes as they are, and passwords that begin like one', async () => {
    await changed(`CREATE USER hashed PASSWORD '${HASH}'; CREATE USER odd PASSWORD 'plain:scrypt:it''s'`);
    await changed('GRANT READ ON *.* TO hashed; GRANT READ ON *.* TO odd');
    expect((await sql('SELECT 1', basic('hashed', 'password'))).status).to.equal(200);
    expect((await sql('SELECT 1', basic('hashed', HASH))).status).to.equal(401);
    expect((await sql('SELECT 1', basic('odd', "scrypt:it's"))).status).to.equal(200);
    await changed('DROP USER hashed; DROP USER odd');
  });

  it('takes tokens in every form of the protocols, until they are dropped', async () => {
    await changed("CREATE USER bot PASSWORD 'botpass'; GRANT WRITE ON public.* TO bot");
    const token = await newToken('CREATE TOKEN agent FOR bot');
    expect(token).to.match(/^alm_[A-Za-z0-9_-]{43}$/);
    const unnamed = await newToken('CREATE TOKEN FOR bot');
    const event = (authorization: string): Promise<Answer> =>
      sendAs(`${almanac.url}/v1/splunk/services/collector`, authorization, '{"event":"a"}');
    const ways: [string, () => Promise<Answer>][] = [
      ['Bearer', () => writeAs(almanac, `Bearer ${token}`)],
      ['Token', () => writeAs(almanac, `Token ${token}`)],
      ['Splunk', () => event(`Splunk ${token}`)],
      ['Basic of Splunk', () => event(basic('x', token))],
    ];
    for (const [name, way] of ways) {
      const { status, text } = await way();
      expect(status, `${name}: ${text}`).to.be.oneOf([200, 204]);
    }
    expect((await sql('SELECT 1', `Bearer ${token}`)).status).to.equal(403);
    expect((await writeAs(almanac, basic('bot', token))).status, 'as the password of its user').to.equal(204);
    expect((await writeAs(almanac, basic('root', token))).status, 'as the password of another user').to.equal(401);
    const takeover = await sql("ALTER USER bot PASSWORD 'taken'", basic('bot', token));
    expect(takeover.status, 'a token cannot change the password').to.equal(403);
    const listed = rowsIn(await sql('SHOW TOKENS FOR bot'));
    expect(listed.map(([user, name]) => `${user as string} ${name as string}`)).to.satisfy(
      ([first, second]: string[]) => first === 'bot agent' && /^bot token_[0-9a-f]{8}$/.test(second),
    );
    expect(JSON.stringify(listed)).to.not.contain(token).and.to.not.contain('alm_');

    await changed('DROP TOKEN agent FOR bot');
    for (const [name, way] of ways) expect((await way()).status, name).to.be.oneOf([401, 403]);
    const gone = await sql('SELECT 1', `Bearer ${token}`);
    expect([gone.status, errorIn(gone)]).to.deep.equal([401, 'Token not found']);
    expect((await writeAs(almanac, `Bearer ${unnamed}`)).status).to.equal(204);
    await changed('DROP USER bot');
    expect((await writeAs(almanac, `Bearer ${unnamed}`)).status).to.equal(401);
  });

  it('ends open tails of users that are dropped, and of those that may not read any more', async () => {
    await changed("CREATE USER watcher PASSWORD 'watchpass'; GRANT READ ON public.* TO watcher");
    const token = await newToken('CREATE TOKEN tail FOR watcher');
    const line = { streams: [{ stream: { app: 'a' }, values: [['1700000000000000000', 'hello']] }] };
    const pushed = await fetch(`${almanac.url}/v1/loki/api/v1/push`, {
      method: 'POST',
      headers: { authorization: ROOT, 'content-type': 'application/json' },
      body: JSON.stringify(line),
    });
    expect(pushed.status).to.equal(204);
    for (const [authorization, ending] of [
      [`Bearer ${token}`, 'DROP TOKEN tail FOR watcher'],
      [basic('watcher', 'watchpass'), 'REVOKE READ ON public.* FROM watcher; GRANT READ ON metrics.* TO watcher'],
    ] as const) {
      const tail = await OpenTail.start(`${almanac.url}/v1/logs/tail?table=loki_logs`, authorization);
      await eventually(() => tail.text.includes('connected'));
      expect(tail.isEnded).to.equal(false);
      await changed(ending);
      await eventually(() => tail.isEnded);
    }
    await changed('DROP USER watcher');
  });

  it('prefers the users of the provider', async () => {
    await changed("CREATE USER shared PASSWORD 'sqlpass'; GRANT ADMIN ON *.* TO shared");
    expect((await sql('SELECT 1', basic('shared', 'sqlpass'))).status).to.equal(401);
    expect((await sql('DROP USER shared', basic('shared', 'filepass'))).status).to.equal(403);
    await refused("ALTER USER shared PASSWORD 'x'", /not authorized/, 403, basic('shared', 'filepass'));
    await changed('DROP USER shared');
  });

  it('needs an administrator of every database', async () => {
    await changed("CREATE USER plain PASSWORD 'plainpass'; GRANT READ_WRITE ON *.* TO plain");
    for (const authorization of [basic('plain', 'plainpass'), basic('scoped', 'scopedpass')]) {
      for (const statement of [
        "CREATE USER evil PASSWORD 'x'",
        "ALTER USER plainer PASSWORD 'x'",
        'DROP USER root',
        'GRANT ADMIN ON *.* TO plain',
        'GRANT READ ON metrics.* TO plain',
        'REVOKE ALL ON *.* FROM plain',
        'CREATE TOKEN FOR plain',
        'DROP TOKEN a FOR plain',
        'SHOW USERS',
        'SHOW GRANTS',
        'SHOW GRANTS FOR plain',
        'SHOW TOKENS',
        'ADMIN move_region(1, 1)',
      ]) {
        const { status, text } = await sql(statement, authorization, 'metrics');
        expect(status, `${statement}: ${text}`).to.equal(403);
      }
      expect((await sendAs(`${almanac.url}/config`, authorization)).status).to.equal(403);
    }
    expect(rowsIn(await sql('SHOW USERS'))).to.deep.equal([['plain', 1, 0]]);
    await changed('DROP USER plain');
  });

  it('refuses malformed and huge statements, and leaves nothing', async () => {
    await changed("CREATE USER dana PASSWORD 'danapass'");
    const long = 'x'.repeat(129);
    for (const [statement, error] of [
      ["CREATE USER dana PASSWORD 'x'", /User dana already exists/],
      ["CREATE USER PASSWORD 'x'", /expected: 'PASSWORD'/],
      ['CREATE USER eve', /expected: 'PASSWORD', found: EOF/],
      ["CREATE USER eve PASSWORD ''", /the password has 0 bytes/],
      [`CREATE USER eve PASSWORD '${'x'.repeat(1025)}'`, /the password has 1025 bytes/],
      ["CREATE USER eve PASSWORD 'scrypt:15:zz:zz'", /malformed password verifier/],
      [`CREATE USER eve PASSWORD 'scrypt:15:${'0'.repeat(5000)}:00'`, /at most 4096 characters/],
      ["CREATE USER eve PASSWORD 'mysql_native_password:6bb4'", /matches no password over HTTP/],
      [`CREATE USER ${long} PASSWORD 'x'`, /Invalid user name/],
      [`CREATE USER "a:b" PASSWORD 'x'`, /Invalid user name: a:b/],
      [`CREATE USER " a" PASSWORD 'x'`, /Invalid user name/],
      [`CREATE USER "a\nb" PASSWORD 'x'`, /Invalid user name: a\?b/],
      ["ALTER USER nobody1 PASSWORD 'x'", /User not found: nobody1/],
      ['DROP USER nobody1', /User not found: nobody1/],
      ['GRANT READ ON metrics.* TO nobody1', /User not found: nobody1/],
      ['GRANT ALL ON metrics.* TO dana', /expected: 'READ, WRITE, READ_WRITE or ADMIN', found: ALL/],
      ['GRANT READ ON metrics TO dana', /expected: '\.'/],
      ['GRANT READ ON metrics.cpu TO dana', /expected: '\*'/],
      ['GRANT READ ON "a b".* TO dana', /Invalid database name/],
      ['REVOKE READ ON metrics.* FROM dana', /User dana has no such right on metrics\.\*/],
      ['REVOKE ALL ON *.* FROM dana', /no such right on \*\.\*/],
      ['CREATE TOKEN FOR nobody1', /User not found/],
      [`CREATE TOKEN ${long} FOR dana`, /Invalid token name/],
      ['DROP TOKEN none FOR dana', /Token not found: none of user dana/],
      ['SHOW GRANTS FOR nobody1', /User not found/],
    ] as const) {
      await refused(statement, error);
    }
    expect(rowsIn(await sql('SHOW USERS'))).to.deep.equal([['dana', 0, 0]]);
    await changed('CREATE TOKEN one FOR dana');
    await refused('CREATE TOKEN one FOR dana', /Token one of user dana already exists/);
    await changed(Array.from({ length: 99 }, (_, i) => `CREATE TOKEN t${i} FOR dana`).join(';'));
    await refused('CREATE TOKEN more FOR dana', /User dana has 100 tokens/);
    await changed(Array.from({ length: 100 }, (_, i) => `GRANT READ ON d${i}.* TO dana`).join(';'));
    await refused('GRANT READ ON more.* TO dana', /User dana has grants on 100 databases/);
    await changed('GRANT WRITE ON d0.* TO dana');
    expect(rowsIn(await sql('SHOW USERS'))).to.deep.equal([['dana', 100, 100]]);
    await changed('DROP USER dana');
  });

  it('keeps users over a restart and in a checked folder', async () => {
    await changed("CREATE USER kept PASSWORD 'keptpass'; GRANT READ ON *.* TO kept");
    const token = await newToken('CREATE TOKEN FOR kept');
    const before = almanac.stderr;
    await almanac.kill();
    const { code, stdout } = await runAlmanac(['check', join(folder, 'data')]);
    expect(code, stdout).to.equal(0);
    await start();
    almanac.stderr = before + almanac.stderr;
    expect((await sql('SELECT 1', basic('kept', 'keptpass'))).status).to.equal(200);
    expect((await sql('SELECT 1', `Bearer ${token}`)).status).to.equal(200);
  });

  it('hashes one password at a time, and refuses more than wait for it', async () => {
    await changed("CREATE USER busy PASSWORD 'busypass'");
    const statement = (i: number): string => `ALTER USER busy PASSWORD 'busypass${i}'`;
    const answers = await Promise.all(Array.from({ length: 80 }, (_, i) => sql(statement(i))));
    await changed('DROP USER busy');
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].sort()).to.deep.equal([200, 429]);
  });

  it('are part of backups', async () => {
    await changed("CREATE USER saved PASSWORD 'savedpass'; GRANT READ ON metrics.* TO saved");
    const [copy, restored] = [join(folder, 'backup'), join(folder, 'restored')];
    const flags = ['--data-dir', join(folder, 'data'), '--host', almanac.url, '--user', 'root'];
    const saving = await runAlmanac(['backup', copy, ...flags], { environment: { ALMANAC_PASSWORD: 'rootpass' } });
    expect(saving.code, saving.stderr).to.equal(0);
    const restoring = await runAlmanac(['restore', copy, '--data-dir', restored]);
    expect(restoring.code, restoring.stderr).to.equal(0);
    const environment = { ALMANAC__USER_PROVIDER: 'static_user_provider:cmd:admin=adminpass' };
    const other = await Almanac.start(restored, { environment });
    try {
      const saved = basic('saved', 'savedpass');
      expect(rowsIn(await sqlAs(other, 'SELECT count(*) FROM cpu', saved, 'metrics'))).to.deep.equal([[1]]);
      expect((await sqlAs(other, 'SELECT 1', saved)).status).to.equal(403);
    } finally {
      await other.kill();
    }
    await changed('DROP USER saved');
  });

  it('keeps secrets out of logs, the audit log and errors', async () => {
    const secret = 'very-secret-text';
    await changed(`CREATE USER masked /* ${secret} */ PASSWORD '${secret}'`);
    await changed(`ALTER USER masked PASSWORD E'${secret}\\''`);
    const token = await newToken('CREATE TOKEN FOR masked');
    await sql('SELECT 1', `Bearer ${token}x`);
    await sql('SELECT 1', basic('masked', secret));
    for (const statement of [
      `CREATE USER masked PASSWORD '${secret}'`,
      `CREATE USER other1 PASSWORD "${secret}"`,
      `CREATE USER other1 PASSWORD '${secret}' '${secret}'`,
      `CREATE USER other1 '${secret}'`,
      `CREATE USER other1 IDENTIFIED BY '${secret}'`,
      `ALTER USER masked PASSWORD '${secret}' VALID`,
      `ALTER USER masked SET PASSWORD '${secret}'`,
      `CREATE USER other1 PASSWORD 'scrypt:15:${secret}:00'`,
      `EXPLAIN CREATE USER other1 PASSWORD '${secret}'`,
      `EXPLAIN ANALYZE ALTER USER masked PASSWORD '${secret}'`,
    ]) {
      const { status, text } = await sql(statement);
      expect(status, statement).to.equal(400);
      expect(text, statement).to.not.contain(secret);
    }
    await eventually(() => almanac.stderr.includes('ALTER USER masked PASSWORD'));
    expect(almanac.stderr).to.contain('"msg":"slow query"').and.to.contain('"query":"(hidden)"');
    expect(almanac.stderr).to.contain("CREATE USER masked PASSWORD '***'");
    expect(almanac.stderr).to.contain('CREATE TOKEN FOR masked');
    for (const text of [secret, token, 'keptpass', 'annpass', 'botpass', 'newpass', 'alm_', 'scrypt:15']) {
      expect(almanac.stderr, text).to.not.contain(text);
    }
  });

  it('limits the number of users', async () => {
    await almanac.kill();
    const catalog = new Database(join(folder, 'data/metadata/almanac.db'));
    catalog.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9998)
      INSERT INTO users SELECT 'bulk' || i, 'scrypt:15:00:11', 0 FROM n`);
    const { count } = catalog.prepare<[], { count: number }>('SELECT count(*) AS count FROM users').get()!;
    catalog.close();
    await start();
    for (let i = count; i < 10_000; i++) await changed(`CREATE USER last${i} PASSWORD '${HASH}'`);
    await refused(`CREATE USER more PASSWORD '${HASH}'`, /there are 10000 users: drop some/);
    expect(rowsIn(await sql('SHOW USERS'))).to.have.length(10_000);
    expect(rowsIn(await sql("SHOW USERS LIKE 'last%'"))).to.have.length(10_000 - count);
    await changed('DROP USER bulk1');
    await changed(`CREATE USER more PASSWORD '${HASH}'`);
  });
});
