import { expect } from 'chai';

import { buildFailure, runProcessors, TestPipeline } from '#test/support/pipeline-item';

describe('conditions and failures of processors', () => {
  describe('if', () => {
    const upper = (condition: string): string =>
      `- letter: {field: a, method: upper, if: '${condition.replaceAll("'", "''")}'}`;
    const cases: readonly (readonly [condition: string, item: string, expected: string])[] = [
      ['.level == "error"', '{"a":"x","level":"error"}', '{"a":"X","level":"error"}'],
      ['.level == "error"', '{"a":"x","level":"errors"}', '{"a":"x","level":"errors"}'],
      ['.level == "error"', '{"a":"x","level":7}', '{"a":"x","level":7}'],
      ['.level != "error"', '{"a":"x"}', '{"a":"X"}'],
      ['.n == 7', '{"a":"x","n":7}', '{"a":"X","n":7}'],
      ['exists(.b.c) && is_string(.a)', '{"a":"x","b":{"c":1}}', '{"a":"X","b":{"c":1}}'],
      ['is_string(.a) && length(string!(.a)) > 3', '{"a":"long"}', '{"a":"LONG"}'],
      ['contains(string(.a) ?? "", "y")', '{"a":"xy"}', '{"a":"XY"}'],
      ['contains(string(.a) ?? "", "z")', '{"a":"xy"}', '{"a":"xy"}'],
      ['length(.) == 1', '{"a":"x"}', '{"a":"X"}'],
      ["now() > t'2020-01-01T00:00:00Z'", '{"a":"x"}', '{"a":"X"}'],
    ];
    for (const [condition, item, expected] of cases) {
      it(`${condition} with ${item} makes ${expected}`, () => {
        expect(runProcessors(upper(condition), item)).to.equal(expected);
      });
    }

    it('does not change the item', () => {
      expect(runProcessors(upper('del(.b) == 1'), '{"a":"x","b":1}')).to.equal('{"a":"X","b":1}');
    });

    it('runs a processor that requires a field only where the field exists', () => {
      const pipeline = new TestPipeline('- date: {field: t, if: "exists(.t)"}');
      expect(pipeline.run('{"a":1}')).to.equal('{"a":1}');
      expect(pipeline.failure('{"t":"no"}')).to.contain('failed to parse no');
    });

    it('fails the item if the expression aborts', () => {
      expect(new TestPipeline(upper('to_int!(.a) > 1')).failure('{"a":"x"}')).to.contain('Failed to execute VRL');
    });

    const refused: readonly (readonly [condition: string, message: string])[] = [
      ['.a', 'must be a boolean, not any'],
      ['.n > 1', 'unhandled error'],
      ['unknown(.a)', 'undefined function "unknown"'],
      ['.a ==', 'Failed to compile VRL'],
      [`.a == "${'x'.repeat(9_000)}"`, 'condition is larger than'],
    ];
    for (const [condition, message] of refused) {
      it(`refuses ${condition.slice(0, 20)}`, () => expect(buildFailure(upper(condition))).to.contain(message));
    }

    it('refuses what is no text', () => {
      expect(buildFailure('- letter: {field: a, if: [1]}')).to.equal('Field if must be a string');
    });
  });

  describe('on_failure', () => {
    const dates = `
- date:
    field: at
    formats: ['%Y-%m-%d %H:%M:%S']
    tag: strict
    on_failure:
      - date: {field: at, formats: ['%d.%m.%Y %H:%M']}
      - vrl: {source: ".why = ._error\\n."}
`;

    it('runs the processors of a second list when a date fails', () => {
      const pipeline = new TestPipeline(dates);
      expect(pipeline.run('{"at":"2024-01-02 03:04:05"}')).to.equal('{"at":"2024-01-02T03:04:05Z"}');
      expect(pipeline.run('{"at":"02.01.2024 03:04"}')).to.equal(
        '{"at":"2024-01-02T03:04:00Z","why":{"index":0,"message":"Processor date: failed to parse 02.01.2024 03:04",' +
          '"processor":"date","tag":"strict"}}',
      );
    });

    it('fails the item if the second list fails too', () => {
      expect(new TestPipeline(dates).failure('{"at":"x"}')).to.equal('Processor date: failed to parse x');
    });

    it('leaves no failure in the item', () => {
      const drops =
        '- date: {field: at, on_failure: [{letter: {field: a, method: upper}}]}\n- join: {field: l, separator: "-"}';
      expect(runProcessors(drops, '{"at":"x","a":"b","l":[1,2]}')).to.equal('{"a":"B","at":"x","l":"1-2"}');
    });

    it('can drop the item', () => {
      const drops = '- date: {field: at, on_failure: [{filter: {field: a, targets: [b]}}]}';
      expect(runProcessors(drops, '{"at":"x","a":"b"}')).to.equal('dropped');
    });

    it('restores the outer failure after an inner one', () => {
      const nested = `
- date:
    field: at
    on_failure:
      - epoch: {field: at, on_failure: [{vrl: {source: ".inner = ._error.processor\\n."}}]}
      - vrl: {source: ".outer = ._error.processor\\n."}
`;
      expect(runProcessors(nested, '{"at":"x"}')).to.equal('{"at":"x","inner":"epoch","outer":"date"}');
    });

    it('names options that do not exist in lists of processors', () => {
      const { warnings } = new TestPipeline(
        '- date: {field: at, on_failure: [{letter: {field: a, methd: upper}}], tag: t}',
      );
      expect(warnings).to.deep.equal(['processors[0].date.on_failure[0].letter: unknown option methd']);
    });

    it('refuses what is no list of processors', () => {
      expect(buildFailure('- date: {field: at, on_failure: yes}')).to.equal(
        'Field on_failure must be a list of processors',
      );
      expect(buildFailure('- date: {field: at, on_failure: [{grind: {}}]}')).to.equal('Unsupported grind processor');
    });

    it('refuses more than eight levels, and more than 200 processors in all', () => {
      let nested = '{date: {field: a}}';
      for (let i = 0; i < 9; i++) nested = `{date: {field: a, on_failure: [${nested}]}}`;
      expect(buildFailure(`- ${nested}`)).to.contain('nested in more than 8 levels');
      const many = Array.from({ length: 200 }, () => '{letter: {field: a}}').join(',');
      expect(buildFailure(`- date: {field: a, on_failure: [${many}]}`)).to.contain('more than 200 processors');
    });
  });

  describe('ignore_failure', () => {
    it('continues after a failure', () => {
      const pipeline = '- date: {field: at, ignore_failure: true}\n- letter: {field: a, method: upper}';
      expect(runProcessors(pipeline, '{"a":"b","at":"x"}')).to.equal('{"a":"B","at":"x"}');
    });

    it('covers failures of the second list', () => {
      const pipeline = '- date: {field: at, ignore_failure: true, on_failure: [{epoch: {field: at}}]}';
      expect(runProcessors(pipeline, '{"at":"x"}')).to.equal('{"at":"x"}');
    });

    it('must be a boolean', () => {
      expect(buildFailure('- date: {field: at, ignore_failure: 7}')).to.equal('Field ignore_failure must be a boolean');
    });
  });
});
