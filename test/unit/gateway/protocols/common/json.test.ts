import { expect } from 'chai';

import { parseJson, type JsonLimits, type JsonValue } from '#services/gateway/protocols/common/json';

function parse(text: string | Buffer, limits?: JsonLimits): JsonValue {
  return parseJson(Buffer.from(text), limits);
}

function reason(text: string | Buffer, limits?: JsonLimits): string {
  try {
    parse(text, limits);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

describe('parseJson', () => {
  it('parses what JSON.parse parses, to the same values', () => {
    const texts = [
      'null',
      ' {"a":[1,-0,1.5,1e3,true,false,null],"b":{"":"x"}} ',
      '"\\u00e4\\ud83d\\ude00\\n\\/"',
      '[]',
      '{}',
      '[[],{}]',
      '{"a":1,"a":2}',
      '"1234567890123456789"',
      '{"__proto__":{"x":1}}',
      '1e400',
    ];
    for (const text of texts) {
      expect(parse(text), text).to.deep.equal(JSON.parse(text));
      // A text with a long integer is parsed twice.
      const [, exact] = parse(`[9007199254740993,${text}]`) as readonly JsonValue[];
      expect(exact, text).to.deep.equal(JSON.parse(text));
    }
  });

  it('keeps integers exact that a double cannot hold', () => {
    expect(parse('[9007199254740991,9007199254740993,-9223372036854775808,18446744073709551615]')).to.deep.equal([
      9007199254740991,
      9007199254740993n,
      -9223372036854775808n,
      18446744073709551615n,
    ]);
    expect(parse('[1234567890123456.5,1000000000000000]')).to.deep.equal([1234567890123456.5, 1000000000000000]);
  });

  it('stores a member named __proto__ like any other', () => {
    const value = parse('{"__proto__":9007199254740993}') as Record<string, JsonValue>;
    expect(Object.keys(value)).to.deep.equal(['__proto__']);
    expect(Object.getPrototypeOf(value)).to.equal(Object.prototype);
  });

  it('says what is wrong and where', () => {
    expect(reason('{"a":1,\n  "b" 2}')).to.match(/^JSON is not valid: .* position 14/);
    expect(reason('[1,')).to.equal('JSON is not valid: Unexpected end of JSON input');
    expect(reason('{"a":tru}')).to.match(/^JSON is not valid: Unexpected token '}', "{"a":tru}"/);
  });

  it('rejects every text that JSON.parse rejects', () => {
    const whole = '{"a":[1,"b\\n",null,{"c":-1.5e-3}],"d":9007199254740993}';
    for (let cut = 0; cut < whole.length; cut++) {
      expect(reason(whole.slice(0, cut)), whole.slice(0, cut)).to.match(/^JSON is not valid: /);
    }
    for (const text of [
      '[1 2]',
      '{9007199254740993:1}',
      '[09007199254740993]',
      '[9007199254740993x]',
      '{a:1}',
      "['a']",
      '[.5]',
      '[+1]',
      '[1.]',
      '"\\x"',
      'NaN',
      '[,]',
      'nulls',
    ]) {
      expect(reason(text), text).to.match(/^JSON is not valid: /);
    }
  });

  it('limits size and depth', () => {
    expect(reason('[1]', { bytesMax: 2 })).to.equal('JSON is larger than 2 bytes');
    expect(reason('[[[1]]]', { depthMax: 2 })).to.equal('JSON has more than 2 levels');
    expect(parse('[[[1]]]', { depthMax: 3 })).to.deep.equal([[[1]]]);
    expect(parse('["[[[[{{"]', { depthMax: 1 })).to.deep.equal(['[[[[{{']);
    expect(reason('['.repeat(1_000_000))).to.match(/more than 64 levels/);
    expect(reason(Buffer.from([0x22, 0xff, 0x22]))).to.equal('JSON is not valid UTF-8');
  });
});
