import { expect } from 'chai';

import { RemoteQueriers } from '#services/gateway/cluster/remote-queriers';
import { ownCall } from '#shared/contracts/call';
import type { NodeInfo } from '#shared/contracts/gen/metadata';
import type { QuerierService, SqlEvent, SqlRequest } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import { RefusedError } from '#shared/grpc/call-errors';
import { failure } from '#test/support/failure';
import { partialQuerier } from '#test/support/partial-querier';

const CALL = ownCall('test');

function node(addr: string, state = 'ready'): NodeInfo {
  const nodeId = Number(addr.replace(/\D/g, ''));
  return { nodeId, role: 'querier', addr, version: 'test', registeredMs: 0, state, slot: '', regionCount: 0 };
}

function request(sql: string): SqlRequest {
  return { sql, database: '', timezone: 'UTC', format: 'greptimedb_v1', limit: undefined, user: '' };
}

function event(text: string): SqlEvent {
  return { statement: 0, kind: 'text', schema: [], text: Buffer.from(text), rows: 1, affectedRows: 0 };
}

const lost = (): AlmanacError => new AlmanacError('external', 'the connection is lost');

/** Returns these texts, then ends with the given error. */
async function* answers(texts: readonly string[], end?: AlmanacError): AsyncIterable<SqlEvent> {
  await Promise.resolve();
  for (const text of texts) yield event(text);
  if (end !== undefined) throw end;
}

describe('queriers in other processes', () => {
  let nodes: NodeInfo[] = [];
  let services: Record<string, QuerierService['sql']> = {};
  let closed: string[] = [];
  const queriers = new RemoteQueriers({
    nodes: () => nodes,
    connect: (addr) => ({
      service: partialQuerier({
        sql: (sql, call) => services[addr](sql, call),
        async *promQuery({ query }, call) {
          for await (const { text } of services[addr](request(query), call)) yield { text };
        },
      }),
      close: () => void closed.push(addr),
    }),
  });

  beforeEach(() => {
    nodes = [];
    services = {};
    closed = [];
  });
  afterEach(() => queriers.close());

  /** A querier that answers with its name, or fails. */
  function add(addr: string, fail?: () => AlmanacError, state = 'ready'): void {
    nodes.push(node(addr, state));
    services[addr] = () => (fail === undefined ? answers([addr]) : answers([], fail()));
  }

  async function ask(sql: string): Promise<string> {
    let answer = '';
    for await (const { text } of queriers.sql(request(sql), CALL)) answer += Buffer.from(text).toString();
    return answer;
  }

  it('are used in turn', async () => {
    for (const addr of ['q1', 'q2', 'q3']) add(addr);
    const seen = new Set<string>();
    for (let i = 0; i < 3; i++) seen.add(await ask('SELECT 1'));
    expect(seen.size).to.equal(3);
  });

  it('replace each other for reads, with comments or parentheses before the first word', async () => {
    add('q1', lost);
    add('q2', lost);
    add('q3');
    const reads = [
      'SELECT 1',
      ' -- why\n /* a */ /* b */ (select 1)',
      'SHOW TABLES;',
      'WITH a AS (SELECT 1) SELECT * FROM a',
    ];
    for (const sql of reads) expect(await ask(sql)).to.equal('q3');
  });

  it('replace each other for PromQL', async () => {
    add('q1', lost);
    add('q2', lost);
    add('q3');
    const asked = {
      database: 'public',
      query: 'up',
      startMs: 0,
      endMs: 0,
      stepMs: 0,
      lookbackMs: 0,
      limit: 0,
      stats: '',
    };
    let answer = '';
    for await (const { text } of queriers.promQuery(asked, CALL)) answer += Buffer.from(text).toString();
    expect(answer).to.equal('q3');
  });

  it('do not all crash from one query', async () => {
    let asked = 0;
    const broken = (): AlmanacError => {
      asked++;
      return lost();
    };
    for (const addr of ['q1', 'q2', 'q3', 'q4', 'q5']) add(addr, broken);
    expect((await failure(ask('SELECT 1'))).message).to.equal('the connection is lost');
    expect(asked).to.equal(3);
    nodes = [];
    for (const addr of ['q1', 'q2', 'q3', 'q4']) add(addr, () => new RefusedError('connection refused'));
    add('q5');
    expect(await ask('SELECT 1')).to.equal('q5');
  });

  it('do not repeat statements that may have written', async () => {
    add('q1', lost);
    add('q2', lost);
    for (const sql of ['INSERT INTO t VALUES (1)', 'SELECT 1; DROP TABLE t', 'DROP TABLE t']) {
      expect((await failure(ask(sql))).message).to.equal('the connection is lost');
    }
  });

  it('do not repeat a call that returned an error', async () => {
    let asked = 0;
    const refuse = (): AlmanacError => {
      asked++;
      return new AlmanacError('table_not_found', 'no such table');
    };
    add('q1', refuse);
    add('q2', refuse);
    expect((await failure(ask('SELECT 1'))).code).to.equal('table_not_found');
    expect(asked).to.equal(1);
  });

  it('do not repeat a call that returned a partial result', async () => {
    for (const addr of ['q3', 'q4']) {
      nodes.push(node(addr));
      services[addr] = () => answers(['half'], lost());
    }
    expect((await failure(ask('SELECT 1'))).code).to.equal('external');
  });

  it('are skipped while they stop, unless there are no others', async () => {
    add('q1', undefined, 'draining');
    add('q2');
    for (let i = 0; i < 4; i++) expect(await ask('SELECT 1')).to.equal('q2');
    nodes = [node('q1', 'draining'), node('q2', 'gone')];
    expect(await ask('SELECT 1')).to.equal('q1');
    nodes = [node('q2', 'gone')];
    const error = await failure(ask('SELECT 1'));
    expect(error.message).to.equal('no querier is ready');
    expect(error.httpStatus).to.equal(503);
  });

  it('lose their connection when they leave the cluster', async () => {
    add('q1');
    add('q2');
    await ask('SELECT 1');
    await ask('SELECT 1');
    nodes = nodes.filter(({ addr }) => addr === 'q2');
    await ask('SELECT 1');
    expect(closed).to.deep.equal(['q1']);
  });

  it('handle a text with a comment of a million characters', async () => {
    add('q1', lost);
    expect((await failure(ask(`${'/**/'.repeat(1_000_000)}x`))).code).to.equal('external');
  });
});
