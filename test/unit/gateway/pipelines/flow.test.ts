import { expect } from 'chai';

import { ManualClock } from '#test/support/manual-clock';
import { buildFailure, pipelineResources, TestPipeline } from '#test/support/pipeline-item';

class Rig {
  nowMs = 0;
  readonly dropped: string[] = [];
  readonly resources = pipelineResources({
    clock: Object.assign(new ManualClock(), { monotonicMs: () => this.nowMs }),
    dropCounter: (pipeline, processor) => () => void this.dropped.push(`${pipeline} ${processor}`),
  });

  pipeline(processors: string): TestPipeline {
    return new TestPipeline(processors, this.resources);
  }
}

/** Returns how many of the items a pipeline keeps. */
function kept(pipeline: TestPipeline, items: readonly string[]): number {
  return items.filter((item) => pipeline.run(item) !== 'dropped').length;
}

describe('sample', () => {
  it('keeps its share within one percent over a million items, with all items of a key', () => {
    const pipeline = new Rig().pipeline('- sample: {rate: 0.1, key: trace}');
    const traces = new Map<string, boolean>();
    let [count, contradictions] = [0, 0];
    const item = pipeline.item('{"trace":""}');
    for (let i = 0; i < 1_000_000; i++) {
      const trace = `trace-${i % 500_000}`;
      item.setText(0, trace);
      const isKept = pipeline.runItem(item) !== 'dropped';
      if (isKept) count++;
      // A million assertions would take ten times as long as the items.
      if ((traces.get(trace) ?? isKept) !== isKept) contradictions++;
      if (i < 1_000) traces.set(trace, isKept);
    }
    expect(contradictions).to.equal(0);
    expect(count / 1_000_000).to.be.within(0.099, 0.101);
  }).timeout(20_000);

  it('keeps the same items in every process, whatever holds the value', () => {
    const keys = Array.from({ length: 200 }, (_, i) => `{"trace":"t${i}"}`);
    const [a, b] = [new Rig(), new Rig()].map((rig) => rig.pipeline('- sample: {rate: 0.5, key: trace}'));
    for (const key of keys) {
      const asText = b.item(key);
      asText.setText(0, asText.text(0));
      expect(a.run(key)).to.equal(b.runItem(asText));
    }
  });

  it('chooses at random without a key, and always keeps items for which `if` is false', () => {
    const fractions = [0.05, 0.5, 0.0999, 0.1];
    const random = { fraction: () => fractions.shift() ?? 1, bytes: () => new Uint8Array() };
    const pipeline = new TestPipeline(`- sample: {rate: 0.1, if: '.level != "error"'}`, pipelineResources({ random }));
    const items = Array.from({ length: 4 }, () => '{"level":"info"}');
    expect(items.map((item) => pipeline.run(item) !== 'dropped')).to.deep.equal([true, false, true, false]);
    expect(pipeline.run('{"level":"error"}')).to.equal('{"level":"error"}');
  });

  it('counts what it drops', () => {
    const rig = new Rig();
    expect(kept(rig.pipeline('- sample: {rate: 0}'), ['{}', '{}'])).to.equal(0);
    expect(rig.dropped).to.deep.equal(['test sample', 'test sample']);
    expect(kept(rig.pipeline('- sample: {rate: 1}'), ['{}', '{}'])).to.equal(2);
  });

  for (const rate of ['1.5', '-0.1', 'x', '[1]', '.nan']) {
    it(`refuses the rate ${rate}`, () => expect(buildFailure(`- sample: {rate: ${rate}}`)).to.contain('from 0 to 1'));
  }
});

describe('throttle', () => {
  it('drops items beyond the limit for each value', () => {
    const rig = new Rig();
    const pipeline = rig.pipeline('- throttle: {per: service, limit: 3/s}');
    const items = (service: string): string[] => Array.from({ length: 5 }, () => `{"service":"${service}"}`);
    expect(kept(pipeline, items('a'))).to.equal(3);
    expect(kept(pipeline, items('b'))).to.equal(3);
    rig.nowMs += 334;
    expect(kept(pipeline, items('a'))).to.equal(1);
    rig.nowMs += 10_000;
    expect(kept(pipeline, items('a'))).to.equal(3);
    expect(rig.dropped).to.have.length(2 + 2 + 4 + 2);
  });

  it('limits all items together without fields, and distinguishes kinds of values', () => {
    const rig = new Rig();
    expect(kept(rig.pipeline('- throttle: {limit: 2/m}'), ['{"a":1}', '{"a":2}', '{}'])).to.equal(2);
    const items = ['{"a":1}', '{"a":"1"}', '{"a":1,"b":null}', '{}', '{"a":1}'];
    expect(kept(rig.pipeline('- throttle: {per: [a, b], limit: 1/h}'), items)).to.equal(4);
  });

  it('returns what a failed request has used', () => {
    const pipeline = new Rig().pipeline('- throttle: {limit: 1/s}');
    const item = pipeline.item('{}');
    expect(pipeline.runItem(item)).to.equal('{}');
    expect(pipeline.run('{}')).to.equal('dropped');
    item.journal.undo();
    expect(pipeline.run('{}')).to.equal('{}');
  });

  for (const limit of ['', '0/s', '10', '10/d', '-1/s', '1e9/s']) {
    it(`refuses the limit "${limit}"`, () => {
      expect(buildFailure(`- throttle: {limit: '${limit}'}`)).to.contain('must be a number for a second');
    });
  }
});

describe('dedupe', () => {
  it('drops items that repeat others within the window', () => {
    const rig = new Rig();
    const pipeline = rig.pipeline('- dedupe: {fields: [host, message], window: 5s}');
    const item = '{"host":"a","message":"x","n":1}';
    expect(pipeline.run(item)).to.equal(item);
    rig.nowMs += 4_999;
    expect(pipeline.run('{"host":"a","message":"x","n":2}')).to.equal('dropped');
    expect(kept(pipeline, ['{"host":"b","message":"x"}', '{"host":"a","message":"y"}', '{"host":"ax"}'])).to.equal(3);
    rig.nowMs += 1;
    expect(pipeline.run(item)).to.equal(item);
    expect(rig.dropped).to.deep.equal(['test dedupe']);
  });

  it('compares all fields without a list, in any order', () => {
    const pipeline = new Rig().pipeline('- dedupe: {window: 1m}');
    expect(kept(pipeline, ['{"a":1,"b":2}', '{"b":2,"a":1}', '{"a":1}', '{"a":1,"b":"2"}'])).to.equal(3);
  });

  it('does not remember items of a failed request', () => {
    const pipeline = new Rig().pipeline('- dedupe: {fields: [a], window: 1m}');
    const item = pipeline.item('{"a":1}');
    pipeline.runItem(item);
    item.journal.undo();
    expect(pipeline.run('{"a":1}')).to.equal('{"a":1}');
  });

  it('remembers a limited number of values', () => {
    const pipeline = new Rig().pipeline('- dedupe: {fields: [a], window: 1h}');
    const item = pipeline.item('{"a":""}');
    for (let i = 0; i <= 200_000; i++) {
      item.setText(0, `${i}${'x'.repeat(i % 100)}`);
      pipeline.runItem(item);
    }
    expect(pipeline.run('{"a":"200000"}')).to.equal('dropped');
    expect(pipeline.run('{"a":"0"}')).to.equal('{"a":"0"}');
  }).timeout(20_000);

  for (const window of ['', '0s', '2d', 'x']) {
    it(`refuses the window "${window}"`, () => {
      expect(buildFailure(`- dedupe: {field: a, window: '${window}'}`)).to.contain('Processor dedupe: window');
    });
  }
});
