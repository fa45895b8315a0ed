import { unlinkSync, writeFileSync } from 'node:fs';

import { expect } from 'chai';

import { ownCall } from '#shared/contracts/call';
import { pollUntil } from '#test/support/almanac';
import { Cluster, type Member } from '#test/support/cluster';
import { tempFolder } from '#test/support/temp-folder';

const TIMEOUT_MS = 3_000;
const OVER_MS_MAX = 1_000;
const WITHIN_MS = 30_000;
const ENVIRONMENT = {
  ALMANAC_CLUSTER__LEASE: '2s',
  ALMANAC_HTTP__TIMEOUT: `${TIMEOUT_MS}ms`,
  ALMANAC_MEMORY__LIMIT: '512MiB',
};
const V1 = '/v1/lineproto/write';
const V2 = '/v1/lineproto/api/v2/write?bucket=public';
/** Grows in the engine's aggregate states, which cannot be spilled. */
const METADATA = /metadata at 127\.0\.0\.1:\d+ (cannot be reached|did not reply)/;
const INGESTER = /node \d+ \(ingester\) at 127\.0\.0\.1:\d+ (cannot be reached|broke|did not reply)|has no owner/;
const GREEDY = `SELECT max(length(s)) FROM (SELECT string_agg(repeat('x', 1000) || i, '') AS s FROM range(3000000) AS t(i))`;

interface Timed {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly elapsedMs: number;
}

interface LogLine {
  readonly message: string;
  readonly role?: string;
  readonly nodeId?: number;
  readonly requestId?: string;
  readonly code?: string;
}

describe('errors of a cluster', function () {
  this.timeout(120_000);
  const cleanUps: (() => void)[] = [];
  let cluster: Cluster;

  before(async () => {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    cluster = await Cluster.start(folder, { environment: ENVIRONMENT });
    const { status, text } = await write(V1, rows(1_000));
    expect(status, text).to.equal(204);
  });

  after(async () => {
    await cluster.killAll();
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  async function timed(answer: ReturnType<Cluster['post']>): Promise<Timed> {
    const startMs = performance.now();
    return { ...(await answer), elapsedMs: performance.now() - startMs };
  }

  function write(path: string, lines: string, headers: Readonly<Record<string, string>> = {}): Promise<Timed> {
    return timed(cluster.post(path, lines, headers));
  }

  function query(sql: string, headers: Readonly<Record<string, string>> = {}): Promise<Timed> {
    return timed(cluster.post('/v1/sql', sql, { 'content-type': 'application/sql', ...headers }));
  }

  /** The words of libraries are for logs. */
  function expectClean({ text }: Timed): void {
    expect(text).to.not.match(/Last error|Resolution note|UNAVAILABLE|RST_STREAM/);
  }

  function expectInTime({ elapsedMs, text }: Timed): void {
    expect(elapsedMs, text).to.be.lessThan(TIMEOUT_MS + OVER_MS_MAX);
  }

  /** @param who is named as the one that was not reached. */
  function expectV1(answer: Timed, statuses: readonly number[], who: RegExp): void {
    expect(statuses, answer.text).to.include(answer.status);
    const { error } = JSON.parse(answer.text) as { error: string };
    expect(error)
      .to.match(/^timeout: /)
      .and.to.match(who);
    expect(answer.headers.get('x-influxdb-error')).to.equal(error);
    expectClean(answer);
    expectInTime(answer);
  }

  function expectV2(answer: Timed, statuses: readonly number[], who: RegExp): void {
    expect(statuses, answer.text).to.include(answer.status);
    const body = JSON.parse(answer.text) as Record<string, string>;
    expect(Object.keys(body)).to.deep.equal(['code', 'message', 'error']);
    expect(body['code']).to.equal('unavailable');
    expect(body['message']).to.match(who);
    expectClean(answer);
    expectInTime(answer);
  }

  function expectSql(answer: Timed, status: number, code: number): void {
    expect(answer.status, answer.text).to.equal(status);
    const body = JSON.parse(answer.text) as { code: number; error: string };
    expect(body.code, answer.text).to.equal(code);
    expect(body.error).to.not.equal('');
    expectClean(answer);
    expect(answer.headers.get('x-almanac-err-code')).to.equal(String(code));
    expectInTime(answer);
  }

  /** How many regions the ingesters have opened. */
  async function openRegions(): Promise<number> {
    const { nodes } = await cluster.metadata.listNodes({}, ownCall('test'));
    let open = 0;
    for (const { role, nodeId } of nodes) {
      if (role !== 'ingester') continue;
      const { text } = await cluster.get(`/metrics?node=${nodeId}`);
      open += Number(/^almanac_ingester_regions(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1]);
    }
    return open;
  }

  /** The lines of a process about a request. */
  function linesAbout(member: Member, requestId: string): LogLine[] {
    const lines = member.stderr.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
    return lines.map((line) => JSON.parse(line) as LogLine).filter((line) => line.requestId === requestId);
  }

  async function expectLogged(member: Member, requestId: string): Promise<void> {
    const isThere = (): Promise<boolean> => Promise.resolve(linesAbout(member, requestId).length > 0);
    const isLogged = await pollUntil(performance.now() + WITHIN_MS, isThere);
    expect(isLogged, `${member.name}: ${member.stderr.slice(-2_000)}`).to.equal(true);
    const [line] = linesAbout(member, requestId);
    expect(line.role).to.equal(member.role);
    expect(line.nodeId).to.be.a('number');
  }

  it('an unresponsive ingester: writes and queries fail in time, and the logs name it', async () => {
    const [ingester] = cluster.of('ingester');
    ingester.signal('SIGSTOP');
    try {
      const [v1, v2, sql] = await Promise.all([
        write(V1, rows(1_000), { 'x-request-id': 'write-to-stopped' }),
        write(V2, rows(1_000)),
        query('SELECT count(*) FROM cpu', { 'x-request-id': 'read-of-stopped' }),
      ]);
      expectV1(v1, [408, 503], INGESTER);
      expectV2(v2, [408, 503], INGESTER);
      expect([408, 503], sql.text).to.include(sql.status);
      expectSql(sql, sql.status, sql.status === 408 ? 1008 : 4008);
      const [gateway] = cluster.of('gateway');
      await expectLogged(gateway, 'write-to-stopped');
      await expectLogged(gateway, 'read-of-stopped');
      await expectLogged(cluster.of('querier')[0], 'read-of-stopped');
    } finally {
      ingester.signal('SIGCONT');
    }
    await cluster.ready();
    const { status, text } = await query('SELECT count(*) FROM cpu');
    expect(status, text).to.equal(200);
    expect(text).to.contain('"rows":[[1000]]');
  });

  it('a failing disk of an ingester: the logs of all three processes report it', async () => {
    // No folder can be made where a file is.
    const { tables } = await cluster.metadata.listTables({ database: 'public' }, ownCall('test'));
    const folder = `${cluster.folder}/store/${tables[0].databaseId}`;
    writeFileSync(folder, '');
    try {
      const answer = await query("ADMIN flush_table('cpu')", { 'x-request-id': 'flush-to-nowhere' });
      expect(answer.status, answer.text).to.be.oneOf([408, 500, 503]);
      expectInTime(answer);
      await expectLogged(cluster.of('gateway')[0], 'flush-to-nowhere');
      await expectLogged(cluster.of('querier')[0], 'flush-to-nowhere');
      const [first, second] = cluster.of('ingester');
      await Promise.race([expectLogged(first, 'flush-to-nowhere'), expectLogged(second, 'flush-to-nowhere')]);
    } finally {
      unlinkSync(folder);
    }
    // A flush that began before may still fail.
    const isMended = await pollUntil(performance.now() + WITHIN_MS, async () => {
      const { status } = await query("ADMIN flush_table('cpu')");
      return status === 200;
    });
    expect(isMended, cluster.words()).to.equal(true);
  });

  it("a query that exceeds the querier's memory: 6000, and the querier continues", async () => {
    const [querier] = cluster.of('querier');
    const { pid } = querier;
    const answer = await query(GREEDY, { 'x-request-id': 'greedy', 'x-almanac-timeout': '20s' });
    expect(answer.status, answer.text).to.equal(500);
    expect(answer.text).to.contain('"code":6000');
    expect(answer.headers.get('x-almanac-err-code')).to.equal('6000');
    await expectLogged(querier, 'greedy');
    await expectLogged(cluster.of('gateway')[0], 'greedy');
    const next = await query('SELECT count(*) FROM cpu');
    expect(next.status, next.text).to.equal(200);
    expect(querier.runs && querier.pid === pid).to.equal(true);
  });

  it('metadata down: unknown tables fail in time, known tables work', async () => {
    const [metadata] = cluster.of('metadata');
    // Three of its regions have no row and were never requested.
    expect((await write(V1, 'untouched v=1 1')).status).to.equal(204);
    const isOpen = await pollUntil(performance.now() + WITHIN_MS, async () => (await openRegions()) === REGIONS * 2);
    expect(isOpen, 'granted regions are opened').to.equal(true);
    await metadata.kill();
    const untouched = await cluster.sql('SELECT v FROM untouched');
    const [v1, v2, created, read, known] = await Promise.all([
      write(V1, 'unknown v=1 1'),
      write(V2, 'unknown v=1 1'),
      query('CREATE TABLE other (ts TIMESTAMP TIME INDEX)'),
      query('SELECT * FROM unknown'),
      write(V1, rows(1_000)),
    ]);
    metadata.start();
    await cluster.ready();
    expect(untouched.rows, untouched.text).to.deep.equal([[1]]);
    expectV1(v1, [408, 503], METADATA);
    expectV2(v2, [408, 503], METADATA);
    for (const answer of [created, read]) {
      expectSql(answer, answer.status, answer.status === 408 ? 1008 : 1007);
      expect(answer.status).to.be.oneOf([408, 503]);
      expect(answer.text).to.match(METADATA);
    }
    expect(known.status, known.text).to.equal(204);
    expect((await query('CREATE TABLE other (ts TIMESTAMP TIME INDEX)')).status).to.equal(200);
  });

  it('ingesters gone: writes and queries fail in time', async () => {
    await Promise.all(cluster.of('ingester').map((member) => member.kill()));
    // More reads than may run at once: those that wait for an owner do not delay others.
    const waiting = Array.from({ length: 12 }, () => query('SELECT count(*) FROM cpu'));
    const [v1, v2, sql, other] = await Promise.all([
      write(V1, rows(1_000)),
      write(V2, rows(1_000)),
      query('SELECT count(*) FROM cpu'),
      query('SELECT 1'),
    ]);
    for (const { status, text } of await Promise.all(waiting)) expect(status, text).to.be.oneOf([408, 503]);
    for (const member of cluster.of('ingester')) member.start();
    await cluster.ready();
    expectV1(v1, [408, 503], INGESTER);
    expectV2(v2, [408, 503], INGESTER);
    expectSql(sql, sql.status, sql.status === 408 ? 1008 : 4008);
    expect(sql.status).to.be.oneOf([408, 503]);
    expect(sql.text).to.match(INGESTER);
    expect(other.status, other.text).to.equal(200);
    const { text } = await query('SELECT count(*) FROM cpu');
    expect(text).to.contain('"rows":[[1000]]');
  });

  it('a request with a timeout of its own fails at that time', async () => {
    await Promise.all(cluster.of('ingester').map((member) => member.kill()));
    const answer = await timed(cluster.post(V1, rows(10), { 'x-almanac-timeout': '700ms' }));
    for (const member of cluster.of('ingester')) member.start();
    await cluster.ready();
    expect(answer.status, answer.text).to.be.oneOf([408, 503]);
    expect(answer.elapsedMs).to.be.below(TIMEOUT_MS);
  });

  it('no querier: queries fail at once, writes work', async () => {
    await cluster.of('querier')[0].kill();
    const sql = await query('SELECT count(*) FROM cpu');
    expectSql(sql, 503, 1007);
    const written = await write(V1, rows(1_000));
    expect(written.status, written.text).to.equal(204);
  });
});

/** Of many hosts, so that every region gets some. */
const REGIONS = 4;

function rows(count: number): string {
  return Array.from({ length: count }, (_, n) => `cpu,host=h${n % 50} n=${n}i ${n + 1}`).join('\n');
}
