import { expect } from 'chai';
import fc from 'fast-check';

import { spanTree, type JaegerSpan, type SpanTree } from '#services/gateway/dashboard/app/screens/traces/span-tree';
import { operationStatistics } from '#services/gateway/dashboard/app/screens/traces/views/operation-statistics';
import { selfTimes } from '#services/gateway/dashboard/app/screens/traces/views/self-times';
import { LEVELS_MAX, traceFlame } from '#services/gateway/dashboard/app/screens/traces/views/trace-flame';
import { flameTree } from '#services/gateway/dashboard/app/widgets/flame/flame-data';

const TRACE = 'aa';

interface TestSpan {
  readonly id: string;
  readonly parent?: string;
  readonly name?: string;
  readonly from: number;
  readonly to: number;
  readonly service?: string;
  readonly isError?: boolean;
}

const spanOf = ({ id, parent, name = id, from, to, service = 'shop', isError = false }: TestSpan): JaegerSpan => ({
  spanID: id,
  operationName: name,
  references: parent === undefined ? [] : [{ refType: 'CHILD_OF', traceID: TRACE, spanID: parent }],
  startTime: from,
  duration: to - from,
  tags: isError ? [{ key: 'error', value: true }] : [],
  logs: [],
  processID: service,
});

const treeOf = (...spans: TestSpan[]): SpanTree =>
  spanTree({
    traceID: TRACE,
    spans: spans.map(spanOf),
    processes: { shop: { serviceName: 'shop', tags: [] }, bank: { serviceName: 'bank', tags: [] } },
  });

describe('the own time of spans', () => {
  it('lacks the time of children, once where they overlap, and only where the span runs', () => {
    const tree = treeOf(
      { id: 'a', from: 100, to: 200 },
      { id: 'b', parent: 'a', from: 110, to: 150 },
      { id: 'c', parent: 'a', from: 120, to: 140 },
      { id: 'd', parent: 'a', from: 130, to: 160 },
      { id: 'e', parent: 'a', from: 190, to: 300 },
      { id: 'f', parent: 'a', from: 50, to: 105 },
    );
    const byId = Object.fromEntries([...selfTimes(tree)].map((us, i) => [tree.nodes[i].span.spanID, us]));
    expect(byId).to.deep.equal({ a: 35, f: 55, b: 40, c: 20, d: 30, e: 110 });
  });

  it('is never negative, nor longer than the span', () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd', undefined);
    fc.assert(
      fc.property(fc.array(fc.tuple(ids, fc.nat(50), fc.nat(50)), { maxLength: 20 }), (all) => {
        const tree = treeOf(
          ...all.map(([parent, from, length], i) => ({
            id: 'abcdefghijklmnopqrst'[i],
            from,
            to: from + length,
            ...(parent === undefined ? {} : { parent }),
          })),
        );
        const self = selfTimes(tree);
        return tree.nodes.every(({ span }, i) => self[i] >= 0 && self[i] <= span.duration);
      }),
    );
  });
});

describe('statistics of operations', () => {
  it('count spans of a service and an operation, with sums, average and 95th percentile', () => {
    const calls = Array.from({ length: 20 }, (_, i): TestSpan => {
      return { id: `c${i}`, parent: 'r', name: 'call', service: 'bank', from: i * 100, to: i * 100 + i + 1 };
    });
    const tree = treeOf({ id: 'r', from: 0, to: 2000 }, { ...calls[0], isError: true }, ...calls.slice(1), {
      id: 'o',
      parent: 'r',
      name: 'call',
      from: 1990,
      to: 1995,
    });
    const facts = { errorCount: 0, averageUs: 5, p95Us: 5 };
    expect(operationStatistics(tree)).to.deep.equal([
      {
        service: 'shop',
        operation: 'r',
        count: 1,
        errorCount: 0,
        totalUs: 2000,
        selfUs: 1785,
        averageUs: 2000,
        p95Us: 2000,
      },
      {
        service: 'bank',
        operation: 'call',
        count: 20,
        errorCount: 1,
        totalUs: 210,
        selfUs: 210,
        averageUs: 10.5,
        p95Us: 19,
      },
      { service: 'shop', operation: 'call', count: 1, totalUs: 5, selfUs: 5, ...facts },
    ]);
  });
});

describe('the flame graph of a trace', () => {
  it('joins spans of one operation below the same callers', () => {
    const data = traceFlame(
      treeOf(
        { id: 'r', from: 0, to: 100 },
        { id: 'c1', parent: 'r', name: 'call', from: 10, to: 30 },
        { id: 'c2', parent: 'r', name: 'call', from: 40, to: 60 },
        { id: 'd', parent: 'c2', name: 'deep', service: 'bank', from: 45, to: 50 },
      ),
    );
    expect(data.total).to.equal(100);
    expect(data.stacks.map((stack) => stack.map((frame) => data.frames[frame].name).join(' '))).to.deep.equal([
      'r',
      'r call',
      'r call deep',
    ]);
    expect(data.values).to.deep.equal([60, 35, 5]);
    expect(data.frames[2].file).to.equal('bank');
  });

  it(`has at most ${LEVELS_MAX} levels, and the time of deeper spans in the last one`, () => {
    const chain = Array.from({ length: 5000 }, (_, i): TestSpan => {
      return { id: `s${i}`, from: i, to: 10_000 - i, ...(i === 0 ? {} : { parent: `s${i - 1}` }) };
    });
    const data = traceFlame(treeOf(...chain));
    expect(data.total).to.equal(10_000);
    // With the root that the graph adds.
    expect(flameTree(data).levelCount).to.equal(LEVELS_MAX + 1);
    expect(flameTree(data).nodes[0].value).to.equal(10_000);
  });
});
