import { expect } from 'chai';

import { RowLabels } from '#services/gateway/logql/line/row-labels';
import type { PipelineLine } from '#services/gateway/logql/line/pipeline-line';
import { compileStages } from '#services/gateway/logql/stages/pipeline';
import { parseLogQuery } from '#services/gateway/logql/syntax/parse';

interface Outcome {
  readonly text: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Runs stages over a line of the stream `{app="shop"}` with the metadata `trace=t1`; undefined if it is dropped. */
function run(stages: string, text: string): Outcome | undefined {
  const labels = new RowLabels();
  labels.reset(new Map([['app', 'shop']]));
  labels.addMetadata('trace', 't1');
  const line: PipelineLine = { text, timeNs: 1_700_000_000_123_456_789n, labels };
  const compiled = compileStages(parseLogQuery(`{} ${stages}`).stages);
  if (!compiled.every((stage) => stage(line))) return undefined;
  const { app: _app, trace: _trace, ...shown } = Object.fromEntries(labels.sorted());
  return { text: line.text, labels: shown };
}

const labelsOf = (stages: string, text: string): unknown => run(stages, text)?.labels;
const lineOf = (stages: string, text: string): unknown => run(stages, text)?.text;

const JSON_LINE =
  '{"a":"x\\ty","n":1.50,"big":12345678901234567890,"o":{"p q":true,"l":[1,{"z":"w"}]},"nil":null,"app":"own"}';

describe('LogQL stages', () => {
  describe('line filters', () => {
    const filters: readonly (readonly [string, string, boolean])[] = [
      ['|= "b"', 'abc', true],
      ['|= "x" or "c"', 'abc', true],
      ['!= "x" or "c"', 'abc', false],
      ['|~ "^a.c$"', 'abc', true],
      ['!~ "B"', 'abc', true],
      ['|~ "(?i)B"', 'abc', true],
      ['|> "a<_>c"', 'abc', true],
      ['|> "a<_>"', 'ba', false],
      ['|> "<_>c"', 'xcabc', true],
      ['!> "<_>b"', 'abc', true],
    ];
    for (const [filter, line, passes] of filters) {
      it(`${filter} ${passes ? 'keeps' : 'drops'} ${line}`, () => {
        expect(run(filter, line) !== undefined).to.equal(passes);
      });
    }
  });

  describe('json', () => {
    it('flattens objects, keeps the text of numbers, and skips lists and nulls', () => {
      const big = '12345678901234567890';
      const expected = { a: 'x\ty', n: '1.50', big, o_p_q: 'true', app_extracted: 'own' };
      expect(labelsOf('| json', JSON_LINE)).to.deep.equal(expected);
    });

    it('extracts paths', () => {
      const stage = '| json x="o.l[1].z", y="o[\\"p q\\"]", l="o.l", none="o.m", first="o.l[0]"';
      expect(labelsOf(stage, JSON_LINE)).to.deep.equal({ x: 'w', y: 'true', l: '[1,{"z":"w"}]', first: '1' });
    });

    for (const [text, details] of [
      ['plain', 'expecting json object'],
      ['{"a":1', 'malformed JSON at character 7'],
      ['{"a":"x', 'malformed JSON at character 8'],
      ['{"a":1}x', 'malformed JSON at character 8'],
      ['{"a":"\\q"}', 'malformed escape'],
      ['{"a":tru}', 'malformed JSON at character 6'],
      [`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`, 'more than 64 levels'],
    ]) {
      it(`notes an error for ${text.slice(0, 20)}`, () => {
        const found = labelsOf('| json', text) as Record<string, string>;
        expect(found['__error__']).to.equal('JSONParserErr');
        expect(found['__error_details__']).to.contain(details);
      });
    }

    it('is linear for long texts and unclosed quotes', () => {
      const long = `{"a":"${'\\\\'.repeat(1_000_000)}`;
      expect(labelsOf('| json', long)).to.include({ __error__: 'JSONParserErr' });
      expect(labelsOf('| logfmt', 'k="\\" '.repeat(50_001))).to.have.property('k');
    });

    it('refuses malformed paths', () => {
      expect(() => run('| json a="b..c"', '')).to.throw('cannot parse expression [b..c]');
      expect(() => run('| json a="[x]"', '')).to.throw('cannot parse expression');
    });
  });

  it('unpacks lines and labels', () => {
    const packed = '{"_entry":"the line","pod":"p","n":1}';
    expect(run('| unpack', packed)).to.deep.equal({ text: 'the line', labels: { pod: 'p' } });
    expect(labelsOf('| unpack', 'x')).to.include({ __error__: 'JSONParserErr' });
  });

  describe('logfmt', () => {
    it('reads pairs, quoted values and escapes', () => {
      const line = 'a=1 b="x \\"y\\"\\n" flag c= d.e=f';
      expect(labelsOf('| logfmt', line)).to.deep.equal({ a: '1', b: 'x "y"\n', d_e: 'f' });
    });

    it('extracts chosen keys under other names', () => {
      expect(labelsOf('| logfmt x="a", b', 'a=1 b=2 c=3')).to.deep.equal({ x: '1', b: '2' });
    });

    it('skips malformed parts, and notes them if it is strict', () => {
      expect(labelsOf('| logfmt', '=x a=b"c d=e')).to.deep.equal({ d: 'e' });
      expect(labelsOf('| logfmt --strict', 'a=b"c')).to.include({ __error__: 'LogfmtParserErr' });
    });
  });

  describe('pattern and regexp', () => {
    it('captures between fixed texts', () => {
      const stage = '| pattern `<ip> - <_> "<method> <path>" <status>`';
      const found = { ip: '1.2.3.4', method: 'GET', path: '/a b', status: '200 12' };
      expect(labelsOf(stage, '1.2.3.4 - me "GET /a b" 200 12')).to.deep.equal(found);
      expect(labelsOf('| pattern "[<a>]"', 'x [y]')).to.deep.equal({});
    });

    it('captures the groups of an expression', () => {
      expect(labelsOf('| regexp "(?P<verb>\\\\w+) (?P<n>\\\\d+)"', 'got 15 items')).to.deep.equal({
        verb: 'got',
        n: '15',
      });
      expect(labelsOf('| regexp "(?P<n>\\\\d+)"', 'none')).to.deep.equal({});
    });

    it('refuses what captures nothing', () => {
      expect(() => run('| pattern "a <_>"', '')).to.throw('at least one capture is required');
      expect(() => run('| pattern "<a><b>"', '')).to.throw('found consecutive capture');
      expect(() => run('| pattern "<a> <a>"', '')).to.throw('duplicate capture name');
      expect(() => run('| regexp "(a)"', '')).to.throw('at least one named capture must be supplied');
      expect(() => run('| regexp "(?P<a>"', '')).to.throw('error parsing regexp');
      expect(() => run(`|~ "${'a{100}'.repeat(2_000)}"`, '')).to.throw('longer than 8192 bytes');
      expect(() => run('|~ "((a{1000}){1000}){1000}"', '')).to.throw('error parsing regexp');
    });
  });

  describe('label filters', () => {
    const line = 'level=error ms=150ms size=2KB n=5 bad=x';
    const filters: readonly (readonly [string, boolean])[] = [
      ['level="error"', true],
      ['level!="error"', false],
      ['level=~"err.*"', true],
      ['level=~"err"', false],
      ['level!~"warn|info"', true],
      ['n > 4.5', true],
      ['n == 5 and n < 5', false],
      ['n < 5 or level="error"', true],
      ['ms > 100ms', true],
      ['ms >= 1s', false],
      ['size > 1KiB', true],
      ['size < 1KB', false],
      ['missing > 1', false],
      ['missing=""', true],
      ['(n = 5)', true],
      ['app="shop"', true],
      ['trace="t1"', true],
    ];
    for (const [filter, passes] of filters) {
      it(`${filter} ${passes ? 'keeps' : 'drops'} the line`, () => {
        expect(run(`| logfmt | ${filter}`, line) !== undefined).to.equal(passes);
      });
    }

    it('keeps a line whose value is no number, with an error that can be filtered', () => {
      expect(labelsOf('| logfmt | bad > 1', line)).to.include({ __error__: 'LabelFilterErr' });
      expect(run('| logfmt | bad > 1 | __error__=""', line)).to.equal(undefined);
    });
  });

  describe('formats', () => {
    const templates: readonly (readonly [string, string])[] = [
      ['{{.a}}-{{ .b | upper }}', '1-X'],
      ['{{ if eq .a "1" }}one{{ else if .b }}b{{ else }}none{{ end }}', 'one'],
      ['{{ if not .zzz }}missing{{ end }}', 'missing'],
      ['a {{- .a -}} b', 'a1b'],
      ['{{/* nothing */}}x', 'x'],
      ['{{ __line__ | trunc 3 }}', 'a=1'],
      ['{{ __timestamp__ | date "2006-01-02T15:04:05.000Z07:00" }}', '2023-11-14T22:13:20.123Z'],
      ['{{ __timestamp__ | unixEpochMillis }}', '1700000000123'],
      ['{{ add .a 2 | mul 3 }}', '9'],
      ['{{ div 7 2 }} {{ divf 7 2 }} {{ mod 7 4 }} {{ round 2.345 2 }}', '3 3.5 3 2.35'],
      ['{{ replace "x" "y" .b }}{{ Replace .b "x" "z" -1 }}', 'yz'],
      ['{{ regexReplaceAll "(\\\\w)x?" "ax" "<${1}>" }}', '<a>'],
      ['{{ trimPrefix "a" "abc" }}{{ TrimSuffix "abc" "c" }}{{ trim "  q " }}', 'bcabq'],
      ['{{ printf "%-4s|%03d|%.1f|%q" .b 5 2.25 "s" }}', 'x   |005|2.3|"s"'],
      ['{{ substr 1 3 "abcd" }}{{ repeat 2 "z" }}{{ default "d" .none }}', 'bczzd'],
      ['{{ contains "b" "abc" }} {{ hasPrefix "b" "abc" }} {{ len "äb" }}', 'true false 3'],
      ['{{ b64enc "hi" }} {{ b64dec "aGk=" }} {{ urlencode "a b" }}', 'aGk= hi a+b'],
      ['{{ duration "1m30s" }} {{ bytes "2KB" }} {{ count "a" "banana" }}', '90 2000 3'],
      ['{{ alignLeft 4 "ab" }}|{{ alignRight 4 "ab" }}', 'ab  |  ab'],
      ['{{ or .none .b }}{{ and .a .b }}{{ max 1 5 3 }}{{ lt 2 10 }}', 'xx5true'],
      ['{{ (add 1 2) | int }}', '3'],
    ];
    for (const [template, text] of templates) {
      it(`formats ${template} as ${text}`, () => {
        expect(lineOf(`| logfmt | line_format \`${template}\``, 'a=1 b=x')).to.equal(text);
      });
    }

    for (const [template, error] of [
      ['{{ .a', 'unclosed action'],
      ['{{ frob .a }}', 'function "frob" not defined'],
      ['{{ upper }}', 'wrong number of args for upper'],
      ['{{ if .a }}', '{{end}} is missing'],
      ['x{{ end }}', 'unexpected {{end}}'],
      ['{{ range .a }}{{ end }}', 'the action range is not supported'],
      ['{{ $x := 1 }}', 'unexpected "$x'],
      ['{{ if .a }}'.repeat(60), 'nested more than'],
      [`{{ ${'('.repeat(60)}1 }}`, 'nested more than'],
    ]) {
      it(`refuses ${template.slice(0, 40)}`, () => {
        expect(() => run(`| line_format \`${template}\``, '')).to.throw(error);
      });
    }

    it('notes an error for templates that make too much, divide by zero or have a malformed pattern', () => {
      for (const template of ['{{ repeat 999999999 "x" }}', '{{ div 1 0 }}', '{{ regexReplaceAll "(" .a "" }}']) {
        expect(labelsOf(`| line_format \`${template}\``, 'a')).to.include({ __error__: 'TemplateFormatErr' });
      }
    });

    it('sets and renames labels', () => {
      const stage = '| logfmt | label_format b=a, c="{{.a}}!", app="other"';
      const all = run(stage, 'a=1');
      expect(all?.labels).to.deep.equal({ b: '1', c: '!' });
      expect(() => run('| label_format a=b, a=c', '')).to.throw("multiple label name 'a' not allowed");
      expect(() => run('| label_format __error__=b', '')).to.throw('cannot be formatted');
    });

    it('drops and keeps labels', () => {
      expect(labelsOf('| logfmt | drop a, b="2"', 'a=1 b=2 c=3')).to.deep.equal({ c: '3' });
      expect(labelsOf('| logfmt | drop b="x"', 'a=1 b=2')).to.deep.equal({ a: '1', b: '2' });
      expect(labelsOf('| logfmt | keep a', 'a=1 b=2')).to.deep.equal({ a: '1' });
      expect(labelsOf('| json | drop __error__, __error_details__', 'x')).to.deep.equal({});
    });

    it('removes colours', () => {
      expect(lineOf('| decolorize', '\u001b[31mred\u001b[0m')).to.equal('red');
    });
  });
});
