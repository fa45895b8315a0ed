import { expect } from 'chai';

import { MAX_TIME_MS, MIN_TIME_MS } from '#services/gateway/query/prom-times';
import { RemoteQueriers } from '#services/gateway/cluster/remote-queriers';
import type { PromQueryRequest, PromReadPart, PromText } from '#shared/contracts/gen/querier';
import { failure } from '#test/support/failure';
import { callFor, GrpcRig } from '#test/support/grpc-rig';
import { memoryQuerier, MemorySamples } from '#test/support/memory-samples';
import { overGrpc, type OverGrpc } from '#test/support/over-grpc';
import { series } from '#test/support/promql-source';
import { framesOf } from '#test/support/remote-read-messages';

const QUERY: PromQueryRequest = {
  ...{ database: 'public', query: 'up', startMs: -60_000, endMs: 0, stepMs: 60_000 },
  ...{ lookbackMs: 0, limit: 0, stats: '' },
};

async function textOf(pieces: AsyncIterable<PromText>): Promise<string> {
  const texts: Uint8Array[] = [];
  for await (const { text } of pieces) texts.push(text);
  return Buffer.concat(texts).toString();
}

describe('PromQL between processes', () => {
  const rig = new GrpcRig();
  const samples = new MemorySamples({ public: [series('up', { job: 'ä' }, [0, 1, 2])] });
  let remote: OverGrpc<'Querier'>;

  before(async () => {
    remote = await overGrpc('Querier', memoryQuerier(samples, ['public'], { concurrent: 1 }));
    rig.onClose(() => remote.stop());
  });

  after(() => rig.close());
  afterEach(() => expect(samples.openCount).to.equal(0));

  it('returns results of queries and series requests', async () => {
    const { service } = remote;
    const metric = '{"__name__":"up","job":"ä"}';
    expect(await textOf(service.promQuery(QUERY, callFor(5_000)))).to.equal(
      `{"status":"success","data":{"resultType":"matrix","result":[{"metric":${metric},"values":[[0,"0"]]}]}}`,
    );
    const asked = { kind: 'labels', database: 'public', name: '', matches: [], fromMs: MIN_TIME_MS, toMs: MAX_TIME_MS };
    expect(await textOf(service.promSeries(asked, callFor(5_000)))).to.contain('["__name__","job"]');
    expect(await textOf(service.promParse({ query: 'a+b', kind: 'format' }, callFor(5_000)))).to.contain('"a + b"');
    const kinds: string[] = [];
    for await (const { kind } of service.promTable(QUERY, callFor(5_000))) kinds.push(kind);
    expect(kinds).to.deep.equal(['result']);
  });

  it('transfers stored samples', async () => {
    const { service } = remote;
    const matchers = [{ op: '=', name: '__name__', value: 'up' }];
    const queries = [0, 1].map((i) => ({ startMs: i * 60_000, endMs: 120_000, matchers }));
    const read = async (format: string): Promise<PromReadPart[]> => {
      const parts: PromReadPart[] = [];
      for await (const part of service.promRead({ database: 'public', queries, format }, callFor(5_000))) {
        parts.push(part);
      }
      return parts;
    };
    expect((await read('samples')).map(({ query }) => query)).to.deep.equal([0, 1]);
    const frames = framesOf(Buffer.concat((await read('chunks')).map(({ data }) => data)));
    expect(frames.map(({ query, chunks }) => [query, chunks[0].samples.map(({ time }) => time)])).to.deep.equal([
      [0, [0, 60_000, 120_000]],
      [1, [60_000, 120_000]],
    ]);
    const bad = [{ ...queries[0], matchers: [{ op: '=~', name: 'a', value: '(' }] }];
    const refused = await failure(
      (async () => {
        const parts = service.promRead({ database: 'public', queries: bad, format: 'samples' }, callFor(5_000));
        for await (const part of parts) expect(part).to.equal(undefined);
      })(),
    );
    expect(refused.code).to.equal('invalid_syntax');
  });

  it('transfers error texts', async () => {
    const { service } = remote;
    const syntax = await failure(textOf(service.promQuery({ ...QUERY, query: 'sum(' }, callFor(5_000))));
    expect([syntax.code, syntax.message]).to.deep.equal([
      ...['invalid_syntax', '1:5: parse error: unclosed left parenthesis'],
    ]);
    const unknown = await failure(textOf(service.promSeries({ ...SERIES, kind: 'x' }, callFor(5_000))));
    expect(unknown.code).to.equal('invalid_arguments');
  });

  it('ends with its call and releases its admission slot', async () => {
    const { service } = remote;
    samples.isStuck = true;
    const abort = new AbortController();
    const given = failure(textOf(service.promQuery(QUERY, callFor(5_000, abort.signal))));
    await samples.stuck.reached;
    samples.isStuck = false;
    // The first query holds the only slot while it reads samples.
    const waiting = failure(textOf(service.promQuery(QUERY, callFor(500))));
    expect((await waiting).code).to.equal('deadline_exceeded');
    abort.abort();
    await given;
    expect(await textOf(service.promQuery(QUERY, callFor(5_000)))).to.contain('success');
  });

  it('uses another querier when one is unreachable', async () => {
    const node = { nodeId: 1, role: 'querier', version: '', registeredMs: 0, state: 'ready', slot: '', regionCount: 0 };
    const addrs = ['127.0.0.1:4759', `127.0.0.1:${remote.server.port}`];
    const queriers = new RemoteQueriers({
      nodes: () => addrs.map((addr, nodeId) => ({ ...node, nodeId, addr })),
      connect: (addr) => {
        const connection = rig.connectTo(Number(addr.split(':')[1]));
        return { service: connection.client('Querier'), close: () => connection.close() };
      },
    });
    for (let i = 0; i < 2; i++) {
      expect(await textOf(queriers.promQuery(QUERY, callFor(10_000)))).to.contain('success');
      expect(await textOf(queriers.promSeries(SERIES, callFor(10_000)))).to.contain('["ä"]');
    }
    queriers.close();
  });
});

const SERIES = { kind: 'label_values', database: 'public', name: 'job', matches: [], fromMs: 0, toMs: MAX_TIME_MS };
