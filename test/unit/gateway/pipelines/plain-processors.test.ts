import { expect } from 'chai';

import { parsePipelineKeys } from '#services/gateway/pipelines/config';
import { buildFailure, pipelineResources, runProcessors, TestPipeline } from '#test/support/pipeline-item';

const resources = pipelineResources({ keys: parsePipelineKeys('k=0123456789abcdef') });

describe('plain processors', () => {
  const cases: readonly (readonly [processors: string, item: string, expected: string])[] = [
    ['- rename: {fields: ["a, b", "c, d"]}', '{"a":1,"b":2,"c":null}', '{"b":1,"d":null}'],
    ['- rename: {field: "x, b", ignore_missing: true}', '{"b":2}', '{"b":2}'],
    ['- set: {field: a, value: 7}', '{"a":"x"}', '{"a":7}'],
    ['- set: {field: a, value: {b: [1, x, null]}}', '{}', '{"a":{"b":[1,"x",null]}}'],
    [
      '- set: {field: a, value: {1: .nan, true: 99999999999999999999}}',
      '{}',
      '{"a":{"1":null,"true":100000000000000000000}}',
    ],
    ['- set: {fields: [a, b], value: null, override: false}', '{"a":1}', '{"a":1,"b":null}'],
    [
      '- set: {field: a, template: "{{h}}:{{ url.port }}/{{ l.1 }}{{ a.b }}{{none}}!"}',
      '{"a.b":true,"h":"x","l":[1,2.5],"url":{"port":80}}',
      '{"a":"x:80/2.5true!","a.b":true,"h":"x","l":[1,2.5],"url":{"port":80}}',
    ],
    ['- remove: {fields: [a, b], ignore_missing: true}', '{"a":1,"c":2}', '{"c":2}'],
    ['- append: {field: a, value: [x, y]}', '{"a":["x"]}', '{"a":["x","x","y"]}'],
    ['- append: {field: a, value: [x, y, y], allow_duplicates: false}', '{"a":"x"}', '{"a":["x","y"]}'],
    ['- append: {field: a, template: "{{b}}"}', '{"b":1}', '{"a":["1"],"b":1}'],
    ['- convert: {fields: [a, "b, c"], type: long}', '{"a":"12","b":[1.0," 2 "]}', '{"a":12,"b":[1," 2 "],"c":[1,2]}'],
    ['- convert: {field: a, type: double}', '{"a":["1",2,"-1e3"]}', '{"a":[1,2,-1000]}'],
    ['- convert: {field: a, type: string}', '{"a":[1,{"b":2},true]}', '{"a":["1","{\\"b\\":2}","true"]}'],
    ['- convert: {field: a, type: boolean}', '{"a":"TRUE"}', '{"a":true}'],
    ['- convert: {field: a, type: auto}', '{"a":["1","1.5","false","x",7]}', '{"a":[1,1.5,false,"x",7]}'],
    ['- split: {field: "a, b", separator: ", "}', '{"a":"x, y, , "}', '{"a":"x, y, , ","b":["x","y"]}'],
    ['- split: {field: a, pattern: "[;,]+", preserve_trailing: true}', '{"a":"x;,y,"}', '{"a":["x","y",""]}'],
    ['- trim: {fields: [a, b]}', '{"a":"  x ","b":[" y",5]}', '{"a":"x","b":["y",5]}'],
    [
      '- foreach: {field: l, processors: [{letter: {field: _value, method: upper}}, {filter: {field: _value, targets: [b]}}]}',
      '{"l":["a","b","c"]}',
      '{"l":["A","C"]}',
    ],
    [
      '- foreach: {field: "l, m", processors: [{rename: {field: "k, key"}}, {set: {field: n, template: "<{{key}}>"}}]}',
      '{"l":[{"k":"a"},{"k":"b","o":1}]}',
      '{"l":[{"k":"a"},{"k":"b","o":1}],"m":[{"key":"a","n":"<a>"},{"key":"b","n":"<b>","o":1}]}',
    ],
    [
      '- foreach: {field: l, processors: [{foreach: {field: _value, processors: [{convert: {field: _value, type: int}}]}}]}',
      '{"l":[["1"],["2","3"]]}',
      '{"l":[[1],[2,3]]}',
    ],
    [
      '- uri_parts: {field: u}',
      '{"u":"http://kim:pw@ex.org:80/a/b.tar.gz?x=1#f"}',
      '{"u":"http://kim:pw@ex.org:80/a/b.tar.gz?x=1#f","url":{"domain":"ex.org","extension":"gz","fragment":"f",' +
        '"original":"http://kim:pw@ex.org:80/a/b.tar.gz?x=1#f","password":"pw","path":"/a/b.tar.gz","query":"x=1",' +
        '"scheme":"http","user_info":"kim:pw","username":"kim"}}',
    ],
    [
      '- uri_parts: {field: u, target: p, keep_original: false, remove_if_successful: true}',
      '{"u":"/a"}',
      '{"p":{"path":"/a"}}',
    ],
  ];
  for (const [processors, item, expected] of cases) {
    it(`${processors.slice(2, 80)} of ${item.slice(0, 40)}`, () => {
      expect(runProcessors(processors, item)).to.equal(expected);
    });
  }

  const failing: readonly (readonly [processors: string, item: string, message: string])[] = [
    ['- rename: {field: "a, b"}', '{}', 'Processor rename: missing field: a'],
    ['- rename: {field: "a, b"}', '{"c":1,"d":null}', 'Processor rename: missing field: a (the item has c)'],
    ['- remove: {field: a}', '{}', 'Processor remove: missing field: a'],
    ['- append: {field: a, value: 1}', `{"a":[${'1,'.repeat(9_999)}1]}`, 'more than 10000 elements'],
    ['- convert: {field: a, type: int}', '{"a":"1.5"}', 'Processor convert: Bytes(b"1.5") is no int'],
    ['- convert: {field: a, type: int}', '{"a":1.5}', 'Float(1.5) is no int'],
    ['- convert: {field: a, type: double}', '{"a":"1e999"}', 'is no double'],
    ['- split: {field: a, separator: ","}', `{"a":"${','.repeat(20_000)}x"}`, 'more than 10000 parts'],
    ['- split: {field: a, pattern: ","}', `{"a":"${','.repeat(20_000)}x"}`, 'more than 10000 parts'],
    ['- trim: {field: a}', '{"a":5}', 'expect string value, but got Integer(5)'],
    ['- foreach: {field: a, processors: []}', '{"a":5}', 'expect array value, but got Integer(5)'],
    ['- foreach: {field: a, processors: []}', `{"a":[${'1,'.repeat(10_000)}1]}`, 'more than 10000 elements'],
    ['- foreach: {field: a, processors: [{date: {field: _value}}]}', '{"a":["x"]}', 'failed to parse x'],
    ['- foreach: {field: a, processors: [{vrl: {source: "[.]"}}]}', '{"a":["x"]}', 'makes rows of an element'],
    ['- fingerprint: {fields: [a, b]}', '{"a":1}', 'Processor fingerprint: missing field: b'],
    ['- uri_parts: {field: u}', '{"u":"no uri"}', 'Processor uri_parts: "u" is no URI: no uri'],
  ];
  for (const [processors, item, message] of failing) {
    it(`${processors.slice(2, 70)} fails: ${message}`, () => {
      expect(new TestPipeline(processors).failure(item)).to.contain(message);
    });
  }

  const refused: readonly (readonly [processors: string, message: string])[] = [
    [`- set: {field: a, value: ${'['.repeat(70)}${']'.repeat(70)}}`, 'more than 64 levels'],
    ['- rename: {field: a}', '"a" has no new name'],
    ['- set: {field: a}', 'Processor set: needs either value or template'],
    ['- set: {field: a, value: 1, template: x}', 'needs either value or template'],
    ['- set: {field: a, template: "{{ }}"}', 'template names no key'],
    ['- convert: {field: a}', 'missing field: type'],
    ['- convert: {field: a, type: date}', 'unknown type "date": use one of int, long'],
    ['- split: {field: a, separator: ""}', 'needs either separator or pattern'],
    ['- foreach: {field: a}', 'missing field: processors'],
    ['- foreach: {field: a, processors: {}}', 'must be a list of processors'],
    ['- fingerprint: {method: sha256}', 'missing field: fields'],
    ['- fingerprint: {field: a, method: crc}', 'unknown method "crc"'],
    ['- fingerprint: {field: a, key_ref: none}', 'key_ref "none" is no key of the configuration'],
  ];
  for (const [processors, message] of refused) {
    it(`refuses ${processors.slice(2)}`, () => expect(buildFailure(processors)).to.contain(message));
  }

  describe('fingerprint', () => {
    const of = (options: string, item: string): unknown => {
      const json = new TestPipeline(`- fingerprint: {${options}, target: f}`, resources).run(item);
      return (JSON.parse(json) as { f: unknown }).f;
    };

    it('is equal for equal values, whatever their order', () => {
      expect(of('fields: [a, b]', '{"a":1,"b":"x"}')).to.equal(of('fields: [b, a]', '{"b":"x","a":1,"c":5}'));
      expect(of('fields: [a, b]', '{"a":1,"b":"x"}')).to.match(/^[0-9a-f]{64}$/);
    });

    it('is different for other values, kinds, names and keys', () => {
      const prints = [
        of('fields: [a, b]', '{"a":"x","b":"yz"}'),
        of('fields: [a, b]', '{"a":"xy","b":"z"}'),
        of('fields: [a, c]', '{"a":"x","c":"yz"}'),
        of('field: a', '{"a":1}'),
        of('field: a', '{"a":"1"}'),
        of('field: a, ignore_missing: true', '{}'),
        of('field: a, key_ref: k', '{"a":1}'),
        of('field: a, method: md5', '{"a":1}'),
      ];
      expect(new Set(prints).size).to.equal(prints.length);
    });
  });
});
