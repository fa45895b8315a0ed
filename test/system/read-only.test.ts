import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { basic, sendAs, type Answer } from '#test/support/as-user';
import { tempFolder } from '#test/support/temp-folder';

const CHANGES = [
  'CREATE TABLE t (ts TIMESTAMP TIME INDEX)',
  "INSERT INTO cpu (host, usage, almanac_timestamp) VALUES ('b', 2, 2)",
  'DELETE FROM cpu',
  'DROP TABLE cpu',
  'TRUNCATE TABLE cpu',
  'ALTER TABLE cpu ADD COLUMN c STRING',
  'CREATE VIEW v AS SELECT 1',
  'CREATE DATABASE other',
  "CREATE USER eve PASSWORD 'long enough'",
  "ADMIN flush_table('cpu')",
  "COPY cpu TO 'cpu.csv' WITH (FORMAT='csv')",
  '/* a /* nested */ comment */ DROP TABLE cpu',
  'SELECT 1; DROP TABLE cpu',
];

describe('requests that may only read', () => {
  let almanac: Almanac;

  before(async () => {
    const folder = tempFolder(after);
    const users = join(folder, 'users');
    mkdirSync(join(folder, 'files'));
    writeFileSync(users, 'root:admin=pass\nreader:ro=pass\nwriter:wo=pass\n');
    const environment = {
      ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${users}`,
      ALMANAC_STANDALONE__STORAGE__COPY_ROOT: join(folder, 'files'),
    };
    almanac = await Almanac.start(join(folder, 'data'), { environment });
    const url = `${almanac.url}/v1/lineproto/write`;
    expect((await sendAs(url, basic('root', 'pass'), 'cpu,host=a usage=1 1000000000')).status).to.equal(204);
  });

  after(() => almanac.stop());

  function run(user: string, sql: string): Promise<Answer> {
    return sendAs(`${almanac.url}/v1/sql?read_only=true`, basic(user, 'pass'), sql);
  }

  it('return rows to those who may read', async () => {
    for (const user of ['root', 'reader']) {
      expect((await run(user, 'SELECT usage FROM cpu')).text, user).to.contain('[[1.0]]');
      expect((await run(user, 'SHOW CREATE TABLE cpu; EXPLAIN SELECT 1')).status, user).to.equal(200);
    }
    expect((await run('writer', 'SELECT usage FROM cpu')).status).to.equal(403);
  });

  for (const statement of CHANGES) {
    it(`refuse ${statement}`, async () => {
      const { status, text } = await run('root', statement);
      expect(status, text).to.be.oneOf([400, 403]);
      expect(text).to.match(/read_only may only read/);
      expect((await run('root', 'SELECT count(*) FROM cpu')).text).to.contain('[[1]]');
    });
  }

  it('are requested by true', async () => {
    const url = `${almanac.url}/v1/sql?read_only=`;
    expect((await sendAs(`${url}false`, basic('root', 'pass'), 'CREATE DATABASE made')).status).to.equal(200);
    const { status, text } = await sendAs(`${url}yes`, basic('root', 'pass'), 'SELECT 1');
    expect(status).to.equal(400);
    expect(text).to.contain('read_only must be true or false');
    const response = await fetch(`${almanac.url}/v1/sql`, {
      method: 'POST',
      headers: { authorization: basic('root', 'pass'), 'content-type': 'application/json' },
      body: JSON.stringify({ sql: 'DROP DATABASE made', read_only: true }),
    });
    expect(response.status).to.equal(403);
  });
});
