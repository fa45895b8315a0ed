import { expect } from 'chai';
import fc from 'fast-check';

import { criticalPath } from '#services/gateway/dashboard/app/screens/traces/critical-path';
import { microsecondText } from '#services/gateway/dashboard/app/screens/traces/duration';
import {
  nodesAtDepth,
  spanTree,
  visibleNodes,
  type JaegerSpan,
  type SpanTree,
} from '#services/gateway/dashboard/app/screens/traces/span-tree';
import { isTraceId, parseTags } from '#services/gateway/dashboard/app/screens/traces/tag-text';

const TRACE = 'aa';

const span = (id: string, parent: string, startTime: number, endTime: number, isError = false): JaegerSpan => ({
  spanID: id,
  operationName: id,
  references: parent === '' ? [] : [{ refType: 'CHILD_OF', traceID: TRACE, spanID: parent }],
  startTime,
  duration: endTime - startTime,
  tags: isError ? [{ key: 'error', value: true }] : [],
  logs: [],
  processID: 'p1',
});

const treeOf = (...spans: JaegerSpan[]): SpanTree =>
  spanTree({ traceID: TRACE, spans, processes: { p1: { serviceName: 'shop', tags: [] } } });

const shape = ({ nodes }: SpanTree): string[] =>
  nodes.map((node) => `${'.'.repeat(node.depth)}${node.span.spanID} ${node.descendantCount}`);

describe('the tree of a trace', () => {
  it('has each span before its children, and these by their start', () => {
    const tree = treeOf(span('c', 'a', 5, 6), span('b', 'a', 1, 4, true), span('d', 'b', 2, 3), span('a', '', 0, 9));
    expect(shape(tree)).to.deep.equal(['a 3', '.b 1', '..d 0', '.c 0']);
    expect(tree).to.include({ startUs: 0, endUs: 9, errorCount: 1, orphanCount: 0 });
    expect(tree.nodes[1]).to.include({ isError: true, service: 'shop', parent: 0 });
  });

  it('takes spans without their parent for roots', () => {
    const tree = treeOf(span('b', 'gone', 1, 2), span('a', '', 0, 9));
    expect(shape(tree)).to.deep.equal(['a 0', 'b 0']);
    expect(tree.orphanCount).to.equal(1);
  });

  it('cuts circles and keeps spans with one ID', () => {
    const tree = treeOf(span('a', 'b', 0, 9), span('b', 'a', 1, 8), span('s', 's', 2, 3), span('s', 'a', 4, 5));
    expect(tree.nodes).to.have.length(4);
  });

  it('keeps every span, however they refer to each other', () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', '');
    fc.assert(
      fc.property(fc.array(fc.tuple(ids, ids, fc.nat(100), fc.nat(100)), { maxLength: 30 }), (all) => {
        const tree = treeOf(...all.map(([id, parent, start, length]) => span(id, parent, start, start + length)));
        expect(tree.nodes).to.have.length(all.length);
        const below = (index: number): number => tree.nodes.filter(({ parent }) => parent === index).length;
        tree.nodes.forEach(({ descendantCount, parent, depth }, i) => {
          expect(parent).to.be.lessThan(i);
          expect(depth).to.equal(parent < 0 ? 0 : tree.nodes[parent].depth + 1);
          if (descendantCount === 0) expect(below(i)).to.equal(0);
        });
        const sections = criticalPath(tree);
        for (const { fromUs, toUs } of sections) expect(fromUs).to.be.lessThan(toUs);
      }),
    );
  });

  it('holds a chain of 50,000 spans', () => {
    const chain = Array.from({ length: 50_000 }, (_, i) => span(`s${i}`, i === 0 ? '' : `s${i - 1}`, i, 100_000 - i));
    const tree = treeOf(...chain);
    expect(tree.nodes[0].descendantCount).to.equal(49_999);
    expect(criticalPath(tree).length).to.be.greaterThan(49_999);
  });

  it('hides what is below collapsed spans', () => {
    const tree = treeOf(span('a', '', 0, 9), span('b', 'a', 1, 4), span('c', 'b', 2, 3), span('d', 'a', 5, 6));
    expect(visibleNodes(tree, new Set(nodesAtDepth(tree, 1)))).to.deep.equal([0, 1, 3]);
    expect(visibleNodes(tree, new Set([0]))).to.deep.equal([0]);
  });
});

describe('the critical path of a trace', () => {
  const path = (tree: SpanTree): string[] =>
    criticalPath(tree).map(({ node, fromUs, toUs }) => `${tree.nodes[node].span.spanID} ${fromUs}-${toUs}`);

  it('goes back from the end through the last child to end', () => {
    const tree = treeOf(span('a', '', 0, 100), span('b', 'a', 10, 40), span('c', 'a', 20, 90), span('d', 'c', 30, 60));
    expect(path(tree)).to.deep.equal(['a 90-100', 'c 60-90', 'd 30-60', 'c 20-30', 'a 0-20']);
  });

  it('takes children one after the other', () => {
    const tree = treeOf(span('a', '', 0, 100), span('b', 'a', 10, 40), span('c', 'a', 50, 90));
    expect(path(tree)).to.deep.equal(['a 90-100', 'c 50-90', 'a 40-50', 'b 10-40', 'a 0-10']);
  });

  it('leaves out children that end after their parent', () => {
    const tree = treeOf(span('a', '', 0, 100), span('b', 'a', 50, 200));
    expect(path(tree)).to.deep.equal(['a 0-100']);
  });
});

describe('the texts of the traces screen', () => {
  it('reads tags in logfmt', () => {
    expect(parseTags('a.b=1 c="two words" d=')).to.deep.equal({ tags: { 'a.b': '1', c: 'two words', d: '' } });
    expect(parseTags('')).to.deep.equal({ tags: {} });
    expect(parseTags('a=1 b').failure).to.match(/^"b" is no tag/);
  });

  it('recognises IDs of traces', () => {
    expect([' 0AF7651916cd43dd ', '0af7', 'xyz'].map(isTraceId)).to.deep.equal([true, false, false]);
  });

  it('shows durations in the unit that suits them', () => {
    expect([999, 1500, 61_000_000, 7_260_000_000].map(microsecondText)).to.deep.equal([
      '999 µs',
      '1.5 ms',
      '1m 01s',
      '2h 01m',
    ]);
  });
});
