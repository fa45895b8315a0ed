import { expect } from 'chai';

import { ScriptMachine } from '#services/gateway/pipelines/vrl/machine';
import { compileScript } from '#services/gateway/pipelines/vrl/compile';
import { parseTree } from '#services/gateway/pipelines/values/parse-tree';
import { canonicalJson, type PipelineValue } from '#services/gateway/pipelines/values/value';

/** Runs a script over an event; returns its result as JSON with sorted keys. */
function run(source: string, event = '{}'): string {
  const machine = new ScriptMachine(0n);
  machine.start(parseTree(event));
  return canonicalJson(compileScript(source).run(machine) as PipelineValue);
}

/** Returns the result of an expression, as JSON. */
function resultOf(expression: string, event = '{}'): string {
  return run(`[${expression}]`, event).slice(1, -1);
}

function compileFailure(source: string): string {
  try {
    compileScript(source);
  } catch (error) {
    return (error as Error).message;
  }
  return 'compiles';
}

function runFailure(source: string, event = '{}'): string {
  try {
    run(source, event);
  } catch (error) {
    return (error as Error).message;
  }
  return 'runs';
}

describe('scripts of pipelines', () => {
  describe('language', () => {
    const cases: readonly (readonly [title: string, source: string, event: string, expected: string])[] = [
      ['assigns nested paths', '.a.b[1] = 2\n.', '{"a":5}', '{"a":{"b":[null,2]}}'],
      ['reads quoted keys and negative positions', '.x = ."a b"[-1]\n.', '{"a b":[1,2]}', '{"a b":[1,2],"x":2}'],
      ['reads null for a miss', '.x = .a.b.c\n.', '{"a":1}', '{"a":1,"x":null}'],
      ['does not change a copy', 'c = .a\nc.x = 1\n.c = c\n.', '{"a":{"y":2}}', '{"a":{"y":2},"c":{"x":1,"y":2}}'],
      ['replaces the event', '. = {"k": .a}\n.', '{"a":1}', '{"k":1}'],
      ['merges into an object', '. |= {"b": 2}\n.', '{"a":1}', '{"a":1,"b":2}'],
      ['separates statements by semicolons', '.a = 1; .b = 2; .', '{}', '{"a":1,"b":2}'],
      ['ignores comments', '# first\n.a = 1 # second\n.', '{}', '{"a":1}'],
      [
        'runs the branch that holds',
        'if .n == 1 { .w = "one" } else if .n == 2 { .w = "two" } else { .w = "many" }\n.',
        '{"n":2}',
        '{"n":2,"w":"two"}',
      ],
      ['gives null without else', '.x = if .n == 1 { "y" }\n.', '{"n":2}', '{"n":2,"x":null}'],
      ['assigns value and error', 'v, e = to_int(.n)\n.v = v\n.e = e\n.', '{"n":"7"}', '{"e":null,"n":"7","v":7}'],
      [
        'assigns the zero of a kind with an error',
        'v, e = to_int(.n)\n.v = v\n.f = is_string(e)\n.',
        '{"n":"x"}',
        '{"f":true,"n":"x","v":0}',
      ],
      ['handles an error by another value', '.v = to_int(.n) ?? -1\n.', '{"n":"x"}', '{"n":"x","v":-1}'],
      ['discards a value', '_ = .a\n.', '{"a":1}', '{"a":1}'],
      ['inserts variables into texts', 'h = "x"\n.u = "a-{{ h }}-b"\n.', '{}', '{"u":"a-x-b"}'],
      ['keeps raw texts', ".r = s'a\\n{{ h }}'\n.", '{}', '{"r":"a\\\\n{{ h }}"}'],
      ['removes what it returns', '.b = del(.a.x)\n.', '{"a":{"x":1,"y":2}}', '{"a":{"y":2},"b":1}'],
      ['finds what exists', '.e = [exists(.a), exists(.b)]\n.', '{"a":null}', '{"a":null,"e":[true,false]}'],
      ['returns early', 'if .a == 1 { return {"early": true} }\n.', '{"a":1}', '{"early":true}'],
      [
        'changes outer variables in closures',
        'n = 0\nfor_each([1, 2, 3]) -> |_i, v| { n = int(v) ?? 0 }\n{"n": n}',
        '{}',
        '{"n":3}',
      ],
      ['maps values', 'map_values({"a": "x"}) -> |v| { upcase(string(v) ?? "") }', '{}', '{"a":"X"}'],
      ['filters by key and value', 'filter({"a": 1, "b": 2}) -> |k, _v| { k == "b" }', '{}', '{"b":2}'],
    ];
    for (const [title, source, event, expected] of cases) {
      it(title, () => expect(run(source, event)).to.equal(expected));
    }
  });

  describe('operators', () => {
    const cases: readonly (readonly [expression: string, expected: string])[] = [
      ['1 + 2 * 3', '7'],
      ['(1 + 2) * 3', '9'],
      ['7 / 2', '3.5'],
      ['"a" + "b" + null', '"ab"'],
      ['"ab" * 2', '"abab"'],
      ['1 + 1.5', '2.5'],
      ['1 == 1.0', 'true'],
      ['"a" < "b"', 'true'],
      ['!true || true && false', 'false'],
      ['null || "x"', '"x"'],
      ['{"a": 1} | {"a": 2, "b": 3}', '{"a":2,"b":3}'],
      ['9223372036854775807 + 1', '-9223372036854775808'],
      ['[1, "a"] == [1.0, "a"]', 'true'],
      ["t'2024-01-01T00:00:00Z' < t'2024-01-01T00:00:01Z'", 'true'],
    ];
    for (const [expression, expected] of cases) {
      it(`${expression} is ${expected}`, () => expect(resultOf(expression)).to.equal(expected));
    }
  });

  describe('functions', () => {
    const cases: readonly (readonly [expression: string, expected: string])[] = [
      ['to_int!("12")', '12'],
      ['to_int(null)', '0'],
      ['to_float!("1.5")', '1.5'],
      ['to_bool!("yes")', 'true'],
      ['to_string(1.0)', '"1"'],
      ['parse_int!("0xff")', '255'],
      ['parse_int!("z", 36)', '35'],
      ['parse_duration!("1m30s", "s")', '90'],
      ["to_unix_timestamp(t'1970-01-02T00:00:00Z')", '86400'],
      ['from_unix_timestamp!(1, "milliseconds")', '"1970-01-01T00:00:00.001Z"'],
      ['format_timestamp!(t\'2024-03-01T06:07:08Z\', "%d/%b/%Y:%H:%M:%S %z")', '"01/Mar/2024:06:07:08 +0000"'],
      ['format_timestamp!(t\'2024-03-01T06:07:08Z\', "%F %T", timezone: "Asia/Tokyo")', '"2024-03-01 15:07:08"'],
      ['parse_timestamp!("2024-03-01 09:00", "%F %R", "Asia/Tokyo")', '"2024-03-01T00:00:00Z"'],
      ['upcase("é")', '"É"'],
      ['camelcase("hello-world_again")', '"helloWorldAgain"'],
      ['snakecase("helloWorld")', '"hello_world"'],
      ['contains("Hello", "hE", case_sensitive: false)', 'true'],
      ['replace("a1b22", r\'\\d+\', "#")', '"a#b#"'],
      ['replace("aaa", "a", "b", count: 2)', '"bba"'],
      ['replace("k=v", r\'(\\w)=(\\w)\', "$2=$1")', '"v=k"'],
      ['split("a, b,c", r\', ?\')', '["a","b","c"]'],
      ['split("a,b,c", ",", limit: 2)', '["a","b,c"]'],
      ['join!(["a", "b"], "-")', '"a-b"'],
      ['slice!("abcd", 1, -1)', '"bc"'],
      ['slice!([1, 2, 3], -2)', '[2,3]'],
      ['strlen("é€")', '2'],
      ['length("é")', '2'],
      ['truncate("hello", 3, "...")', '"hel..."'],
      ['find("abcd", "c")', '2'],
      ['match("abc", r\'^a.c$\')', 'true'],
      ['match_any!("abc", ["x", "b"])', 'true'],
      ['strip_ansi_escape_codes("\\u{1b}[31mred\\u{1b}[0m")', '"red"'],
      ['parse_json!("[1, 2.5]")', '[1,2.5]'],
      ['parse_regex!("ab12", r\'(?P<w>[a-z]+)(?P<n>\\d+)\')', '{"n":"12","w":"ab"}'],
      ['parse_regex_all!("a1b2", r\'(?P<l>[a-z])\\d\')', '[{"l":"a"},{"l":"b"}]'],
      [
        'parse_logfmt!("level=warn msg=\\"a \\\\\\"b\\\\\\"\\" n=7 flag")',
        '{"flag":true,"level":"warn","msg":"a \\"b\\"","n":"7"}',
      ],
      ['parse_key_value!("a:1|b:2", ":", "|")', '{"a":"1","b":"2"}'],
      ['parse_csv!("a,\\"b,c\\"")', '["a","b,c"]'],
      ['parse_query_string("?a=1&b=2&b=3")', '{"a":"1","b":["2","3"]}'],
      [
        'parse_url!("https://u:p@h:8080/p?q=1#f")',
        '{"fragment":"f","host":"h","password":"p","path":"/p","port":8080,"query":{"q":"1"},"scheme":"https","username":"u"}',
      ],
      ['encode_json({"b": 1, "a": [true, null]})', '"{\\"a\\":[true,null],\\"b\\":1}"'],
      ['flatten({"a": {"b": 1}, "c": 2})', '{"a.b":1,"c":2}'],
      ['unflatten({"a.b": 1})', '{"a":{"b":1}}'],
      ['compact({"a": "", "b": {}, "c": 1})', '{"c":1}'],
      ['merge({"a": {"x": 1}}, {"a": {"y": 2}}, deep: true)', '{"a":{"x":1,"y":2}}'],
      ['push([1], 2)', '[1,2]'],
      ['unique([1, 1.0, 2])', '[1,2]'],
      ['chunks!("abcde", 2)', '["ab","cd","e"]'],
      ['zip(["a", "b"], [1, 2])', '[["a",1],["b",2]]'],
      ['to_entries({"a": 1})', '[{"key":"a","value":1}]'],
      ['from_entries!([["a", 1]])', '{"a":1}'],
      ['get!({"a": [5]}, ["a", 0])', '5'],
      ['set!({"a": 1}, ["b", "c"], 2)', '{"a":1,"b":{"c":2}}'],
      ['remove!({"a": {"b": 1}}, ["a", "b"], compact: true)', '{}'],
      ['round(2.567, 2)', '2.57'],
      ['floor(-1.5)', '-2'],
      ['abs(-3)', '3'],
      ['mod!(7, 3)', '1'],
      ['format_number(1234567.891, 2, grouping_separator: ",")', '"1,234,567.89"'],
      ['format_int!(255, 16)', '"ff"'],
      ['md5("foo")', '"acbd18db4cc2f85cedef654fccc4a4d8"'],
      ['sha2!("foo", "SHA-256")', '"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"'],
      ['decode_base64!(encode_base64("ü"))', '"ü"'],
      ['encode_percent("a b")', '"a%20b"'],
      ['is_nullish("-")', 'true'],
      ['is_json("{}")', 'true'],
    ];
    for (const [expression, expected] of cases) {
      it(`${expression} is ${expected}`, () => expect(resultOf(expression)).to.equal(expected));
    }
  });

  describe('does not compile', () => {
    const cases: readonly (readonly [title: string, source: string, message: string])[] = [
      ['an unhandled error', '.n = to_int(.n)\n.', 'Failed to compile VRL, unhandled error'],
      ['an operator that can fail', '.n = .a + 1\n.', 'unhandled error'],
      ['an unhandled error inside of a handled call', '.n = upcase!(to_int(.x))\n.', 'Failed to compile VRL'],
      ['an unknown function', '.a = http_request("x")\n.', 'undefined function "http_request" at line 1 column 6'],
      ['an unknown variable', '.a = x\n.', 'undefined variable "x"'],
      ['a variable of an inner block', 'if true { x = 1 }\n.a = x\n.', 'undefined variable "x"'],
      ['a reserved name', 'int = 1\n.', '"int" is a reserved name'],
      ['a condition that is no boolean', 'if .a { .b = 1 }\n.', 'condition of if must be a boolean'],
      ['if as an argument', '.a = upcase(if true { "x" })\n.', 'Failed to compile VRL'],
      ['a scalar result', '1', 'Vrl script should return object or array in the end, got integer'],
      ['a regular expression as the result', "r'x'", "Please don't use regex in Vrl script"],
      ['an argument of the wrong kind', '.a = upcase(5)\n.', 'expected string, got integer'],
      ['a missing argument', '.a = upcase()\n.', 'upcase needs the argument "value"'],
      ['a text that is not closed', '.a = "x', 'text is not closed'],
      ['a malformed pattern', '.a = match("x", r\'(\')\n.', 'Invalid regex pattern'],
      ['too many levels', `.a = ${'('.repeat(5000)}1`, 'levels'],
    ];
    for (const [title, source, message] of cases) {
      it(title, () => expect(compileFailure(source)).to.contain(message));
    }
  });

  describe('fails', () => {
    const cases: readonly (readonly [title: string, source: string, message: string])[] = [
      ['with the error of a call', '.n = to_int!("x")\n.', 'Invalid integer "x"'],
      ['when it aborts', 'abort', 'aborted'],
      ['when it aborts with a message', 'abort "no"', 'aborted: no'],
      [
        'when it takes too many steps',
        'a = split("x" * 3000, "")\nfor_each(a) -> |_i, _v| { for_each(a) -> |_j, _w| { 1 } }\n.',
        'script limit',
      ],
      ['when it makes too much text', 'x = "a" * 1000000\n.a = x * 1000000\n.', 'script limit'],
      ['when a replacement multiplies a text', 'x = "a" * 100000\n.a = replace(x, "a", x)\n.', 'script limit'],
      ['when an index is huge', '.a[999999999] = 1\n.', 'script limit'],
    ];
    for (const [title, source, message] of cases) {
      it(title, () => expect(runFailure(source)).to.contain(message));
    }
  });

  it('warns of what is needless', () => {
    expect(compileScript('.a = upcase!("x")\n.b = 1 ?? 2\n.').warnings).to.deep.equal([
      'line 1: needless !: upcase cannot fail here',
      'line 2: needless ??: the left side cannot fail',
    ]);
  });

  it('compiles or refuses random texts', () => {
    const words = '. .a [ ] { } ( ) = | -> "x" r\'a\' 1 2.5 if else del ! ?? + , ; \n map_values abort |v|'.split(' ');
    for (let seed = 1; seed <= 3_000; seed++) {
      let state = seed;
      const next = (below: number): number => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
        return Math.floor((state / 2 ** 32) * below);
      };
      const source = Array.from({ length: next(12) + 1 }, () => words[next(words.length)]).join(' ');
      const message = compileFailure(source);
      expect(message, source).to.match(/^(compiles|Failed to compile VRL|Vrl script|Invalid regex)/);
    }
  });
});
