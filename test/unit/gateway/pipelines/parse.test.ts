import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { buildFailure, pipelineResources, TestPipeline } from '#test/support/pipeline-item';

const NOW_NS = BigInt(Date.parse('2024-03-01T12:00:00Z')) * 1_000_000n;
const resources = pipelineResources({ clock: { ...systemClock, nowNs: () => NOW_NS } });

/** Parses a text; returns the fields that it makes. */
function parse(as: string, text: string, more = ''): unknown {
  const pipeline = new TestPipeline(`- parse: {field: m, target: p, as: ${as}${more}}`, resources);
  return (JSON.parse(pipeline.run(JSON.stringify({ m: text }))) as { p: unknown }).p;
}

function failure(as: string, text: string): string {
  return new TestPipeline(`- parse: {field: m, as: ${as}}`, resources).failure(JSON.stringify({ m: text }));
}

describe('parse', () => {
  const cases: readonly (readonly [as: string, text: string, expected: object])[] = [
    ['logfmt', 'level=warn msg="a \\"b\\"" n=7', { level: 'warn', msg: 'a "b"', n: '7' }],
    [
      'logfmt',
      '  a=  flag "k 1"=x url=http://a/?b=c  e="x\\ny"',
      { a: '', flag: true, 'k 1': 'x', url: 'http://a/?b=c', e: 'x\ny' },
    ],
    ['logfmt', 'a=1 a=2 open="x', { a: '2', open: 'x' }],
    ['kv, field_split: "|", value_split: ":"', 'a:1|b:x y|c', { a: '1', b: 'x y', c: true }],
    ['kv, field_split: ";", trim: true', ' a = 1 ; b=2 ', { a: '1', b: '2' }],
    ['kv, field_split: ",", trim: "<>"', '<a>=<1>,b=<2', { a: '1', b: '2' }],
    [
      'syslog',
      '<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \ufeffsu root failed',
      {
        facility: 'auth',
        severity: 'crit',
        version: 1,
        timestamp: '2003-10-11T22:14:15.003Z',
        hostname: 'mymachine.example.com',
        appname: 'su',
        msgid: 'ID47',
        message: 'su root failed',
      },
    ],
    [
      'syslog',
      '<165>1 2003-10-11T22:14:15+02:00 h app 42 - [a@1 x="1" y="q\\"\\]"][b@2] text [x]',
      {
        facility: 'local4',
        severity: 'notice',
        version: 1,
        timestamp: '2003-10-11T20:14:15Z',
        hostname: 'h',
        appname: 'app',
        procid: '42',
        structured_data: { 'a@1': { x: '1', y: 'q"]' }, 'b@2': {} },
        message: 'text [x]',
      },
    ],
    ['syslog', '<0>1 - - - - - -', { facility: 'kern', severity: 'emerg', version: 1, message: '' }],
    [
      'syslog',
      '<13>Mar  1 10:00:00 web1 sshd[42]: Failed password',
      {
        facility: 'user',
        severity: 'notice',
        timestamp: '2024-03-01T10:00:00Z',
        hostname: 'web1',
        appname: 'sshd',
        procid: '42',
        message: 'Failed password',
      },
    ],
    [
      'syslog, timezone: Europe/Berlin',
      'Dec 31 23:00:00 h kernel: up: yes',
      { timestamp: '2023-12-31T22:00:00Z', hostname: 'h', appname: 'kernel', message: 'up: yes' },
    ],
    [
      'syslog',
      'Feb 29 2020 10:00:00: %ASA-6: x',
      { timestamp: '2020-02-29T10:00:00Z', appname: '%ASA-6', message: 'x' },
    ],
    [
      'syslog',
      '2024-03-01T10:00:00Z h message',
      { timestamp: '2024-03-01T10:00:00Z', hostname: 'h', message: 'message' },
    ],
    [
      'nginx_access',
      '10.0.0.7 - kim [07/Aug/2025:09:10:11 +0200] "GET /a?b=c HTTP/1.1" 200 512 "-" "curl/8 \\"x\\"" "10.1.1.1"',
      {
        client: '10.0.0.7',
        user: 'kim',
        timestamp: '2025-08-07T07:10:11Z',
        request: 'GET /a?b=c HTTP/1.1',
        method: 'GET',
        path: '/a?b=c',
        protocol: 'HTTP/1.1',
        status: 200,
        size: 512,
        agent: 'curl/8 "x"',
        forwarded: '10.1.1.1',
      },
    ],
    [
      'nginx_access',
      '10.0.0.7 - - [07/Aug/2025:09:10:11 +0000] "\\x16\\x03" 400 0 "-" "-"',
      { client: '10.0.0.7', timestamp: '2025-08-07T09:10:11Z', request: '\\x16\\x03', status: 400, size: 0 },
    ],
    [
      'nginx_error',
      '2024/03/01 10:00:00 [error] 31#7: *3 open() "/a" failed (2: No such file), client: 10.0.0.7, server: a.org, ' +
        'request: "GET /a, b HTTP/1.1", upstream: "http://10.0.0.8:80/a", host: "a.org:80", referrer: "http://b/"',
      {
        timestamp: '2024-03-01T10:00:00Z',
        severity: 'error',
        pid: 31,
        thread: 7,
        connection: 3,
        message: 'open() "/a" failed (2: No such file)',
        client: '10.0.0.7',
        server: 'a.org',
        request: 'GET /a, b HTTP/1.1',
        method: 'GET',
        path: '/a, b',
        protocol: 'HTTP/1.1',
        upstream: 'http://10.0.0.8:80/a',
        host: 'a.org:80',
        referrer: 'http://b/',
      },
    ],
    [
      'nginx_error',
      '2024/03/01 10:00:00 [notice] 1#1: start worker',
      { timestamp: '2024-03-01T10:00:00Z', severity: 'notice', pid: 1, thread: 1, message: 'start worker' },
    ],
    [
      'apache',
      '127.0.0.1 ident frank x [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 -',
      {
        client: '127.0.0.1',
        identity: 'ident',
        user: 'frank x',
        timestamp: '2000-10-10T20:55:36Z',
        request: 'GET /a.gif HTTP/1.0',
        method: 'GET',
        path: '/a.gif',
        protocol: 'HTTP/1.0',
        status: 200,
      },
    ],
    [
      'apache',
      '::1 - - [10/Oct/2000:13:55:36 +0000] "-" 408 0 "http://r/" "agent"',
      { client: '::1', timestamp: '2000-10-10T13:55:36Z', status: 408, size: 0, referer: 'http://r/', agent: 'agent' },
    ],
    [
      'apache',
      '[Fri Mar 01 10:00:00.123456 2024] [core:error] [pid 42:tid 7] [client 10.0.0.1:80] AH00037: denied',
      {
        timestamp: '2024-03-01T10:00:00.123456Z',
        module: 'core',
        severity: 'error',
        pid: 42,
        thread: 7,
        client: '10.0.0.1',
        port: 80,
        message: 'AH00037: denied',
      },
    ],
    [
      'cri',
      '2016-10-06T00:17:09.669794202Z stdout P log  part',
      { timestamp: '2016-10-06T00:17:09.669794202Z', stream: 'stdout', is_partial: true, message: 'log  part' },
    ],
    [
      'cri',
      '2016-10-06T00:17:09Z stderr F ',
      { timestamp: '2016-10-06T00:17:09Z', stream: 'stderr', is_partial: false, message: '' },
    ],
    [
      'docker',
      '{"log":"a \\"b\\"\\r\\n","stream":"stderr","time":"2024-03-01T10:00:00.1Z","attrs":{"tag":"x"}}',
      {
        timestamp: '2024-03-01T10:00:00.100Z',
        stream: 'stderr',
        is_partial: false,
        message: 'a "b"',
        attrs: { tag: 'x' },
      },
    ],
    [
      'klog',
      'E0301 10:00:00.123456   42 server/main.go:17] no: x]',
      {
        level: 'error',
        timestamp: '2024-03-01T10:00:00.123456Z',
        thread: 42,
        file: 'server/main.go',
        line: 17,
        message: 'no: x]',
      },
    ],
    [
      'klog',
      'I0303 10:00:00.1 1 a.go:1] x',
      { level: 'info', timestamp: '2023-03-03T10:00:00.100Z', thread: 1, file: 'a.go', line: 1, message: 'x' },
    ],
    [
      'cef',
      'Mar  1 10:00:00 h CEF:0|Sec\\|urity|fire|1.0|100|worm found|10|src=10.0.0.1 msg=two words \\= x\\nnew  dst=2.1.2.2 empty=',
      {
        version: 0,
        device_vendor: 'Sec|urity',
        device_product: 'fire',
        device_version: '1.0',
        device_event_class_id: '100',
        name: 'worm found',
        severity: '10',
        src: '10.0.0.1',
        msg: 'two words = x\nnew',
        dst: '2.1.2.2',
        empty: '',
      },
    ],
    [
      'url',
      'https://u:p%40@example.org:8443/a/b.html?x=1&y=2&y=3#top',
      {
        scheme: 'https',
        username: 'u',
        password: 'p@',
        host: 'example.org',
        port: 8443,
        path: '/a/b.html',
        query: { x: '1', y: ['2', '3'] },
        fragment: 'top',
      },
    ],
    ['url', '/a/b?x=%20', { path: '/a/b', query: { x: ' ' } }],
    ['query', '?a=1&b=x+y%21&b=z&=0', { a: '1', b: ['x y!', 'z'] }],
    ['query', '', {}],
    [
      'user_agent',
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1',
      {
        browser: 'Safari',
        browser_version: '17.4',
        engine: 'WebKit',
        os: 'iOS',
        os_version: '17.4',
        device: 'mobile',
        vendor: 'Apple',
        model: 'iPhone',
      },
    ],
    ['user_agent', 'curl/8.5.0', { browser: 'curl', browser_version: '8.5.0' }],
    ['user_agent', '???', {}],
  ];
  for (const [as, text, expected] of cases) {
    it(`${as}: ${text.slice(0, 60)}`, () => expect(parse(as, text)).to.deep.equal(expected));
  }

  it('recognises an agent the same from its cache', () => {
    expect(parse('user_agent', 'wget/1.2')).to.deep.equal(parse('user_agent', 'wget/1.2'));
  });

  it('stores fields in the item, under a target, or under another name', () => {
    const run = (options: string): string => {
      return new TestPipeline(`- parse: {as: logfmt, ${options}}`).run('{"m":"a=1"}');
    };
    expect(run('field: m')).to.equal('{"a":"1","m":"a=1"}');
    expect(run('field: "m, n"')).to.equal('{"m":"a=1","n":{"a":"1"}}');
    expect(run('field: m, target: m')).to.equal('{"m":{"a":"1"}}');
  });

  describe('fails an item, and sets nothing', () => {
    const malformed: readonly (readonly [as: string, ...texts: string[]])[] = [
      ['logfmt', '', '   '],
      [
        'syslog',
        '',
        'x',
        '<192>1 - - - - - -',
        '<34>1 yesterday h a - - -',
        '<34>1 - h a - - [x',
        '<34>1 - h a - - [x y="1]',
      ],
      [
        'nginx_access',
        '',
        '1 - - [x] "GET / HTTP/1.1" 200 5 "-" "-"',
        '1 - - [07/Aug/2025:09:10:11 +0200] "GET / HTTP/1.1" 200 5',
      ],
      ['nginx_error', '', '2024/03/01 10:00:00 [error] x: y'],
      ['apache', '', '[x] [y] z', '1 - - [07/Aug/2025:09:10:11 +0200] "GET / HTTP/1.1" 200 five'],
      ['cri', '', '2016-10-06T00:17:09Z stdin F x', '2016-10-06T00:17:09Z stdout X x'],
      ['docker', '', '{', '{"log":1,"time":"2024-03-01T10:00:00Z"}', '[]'],
      [
        'klog',
        '',
        'I0301 10:00:00 x',
        'X0301 10:00:00.123456   42 main.go:17] started',
        'I1301 10:00:00.1 1 a.go:1] x',
      ],
      ['cef', '', 'CEF:0|a|b', 'CEF:x|a|b|c|d|e|f|'],
      ['url', '', 'a b', 'http://', `http://a/${'x'.repeat(70_000)}`],
    ];
    for (const [as, ...texts] of malformed) {
      it(as, () => {
        for (const text of texts) {
          expect(failure(as, text)).to.match(new RegExp(`^Processor parse: "m" is no ${as}: `));
          const item = JSON.stringify({ m: text });
          const ignoring = new TestPipeline(`- parse: {field: m, as: ${as}, ignore_failure: true}`, resources);
          expect(JSON.parse(ignoring.run(item))).to.deep.equal({ m: text });
        }
      });
    }

    it('with too many keys', () => {
      const text = Array.from({ length: 3_000 }, (_, i) => `k${i}=1`).join(' ');
      expect(failure('logfmt', text)).to.contain('more than 2000 keys');
    });
  });

  it('reads hostile texts in linear time', () => {
    const parts = ['a', '=', '"', '\\', ' ', '[', '<', '|', 'a=', 'CEF:', '" "', '%', '&', '] ', ', client: "', 'k="'];
    const formats = 'logfmt kv syslog nginx_access nginx_error apache cri docker klog cef url query user_agent'.split(
      ' ',
    );
    const heads = ['', 'CEF:0|a|b|c|d|e|f|', '<1>1 - - - - - [a ', '1 - - [07/Aug/2025:09:10:11 +0200] "'];
    const startMs = performance.now();
    for (const as of formats) {
      const pipeline = new TestPipeline(`- parse: {field: m, as: ${as}, target: p, ignore_failure: true}`, resources);
      for (const part of parts) {
        for (const head of heads) pipeline.run(JSON.stringify({ m: head + part.repeat(100_000 / part.length) }));
      }
    }
    // A reader that takes the square of the length needs seconds for a single text.
    expect(performance.now() - startMs).to.be.lessThan(20_000);
  });

  const refused: readonly (readonly [options: string, message: string])[] = [
    ['', 'missing field: as'],
    ['as: toml', 'unknown format "toml": use one of logfmt, kv, syslog'],
    ['as: kv, field_split: ""', 'field_split must have 1 to 32 characters'],
    ['as: kv, trim: 7', 'Field trim must be a boolean or a string'],
    ['as: syslog, timezone: Mars/Olympus', 'Parse date timezone error Mars/Olympus'],
  ];
  for (const [options, message] of refused) {
    it(`refuses ${options || 'no format'}`, () => {
      expect(buildFailure(`- parse: {field: m${options === '' ? '' : ', '}${options}}`)).to.contain(message);
    });
  }

  it('warns of options of another format', () => {
    expect(new TestPipeline('- parse: {field: m, as: logfmt, trim: true}').warnings).to.deep.equal([
      'processors[0].parse: unknown option trim',
    ]);
  });
});
