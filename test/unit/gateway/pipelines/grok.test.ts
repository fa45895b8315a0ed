import { readFileSync } from 'node:fs';

import { expect } from 'chai';

import { compileGrok } from '#services/gateway/pipelines/processors/grok/expand';
import { GROK_PATTERNS } from '#services/gateway/pipelines/processors/grok/library';
import { buildFailure, runProcessors, TestPipeline } from '#test/support/pipeline-item';

const ACCESS =
  '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326 "http://ex.org/" "Mozilla/4.08 [en]"';
const PAGE = new URL('../../../../../docs/pipelines/grok.md', import.meta.url);

function grok(pattern: string, text: string, more = ''): Record<string, unknown> {
  const pipeline = new TestPipeline(`- grok: {field: m, patterns: ['${pattern}']${more}}`);
  const { m: _m, ...fields } = JSON.parse(pipeline.run(JSON.stringify({ m: text }))) as Record<string, unknown>;
  return fields;
}

function isMatch(name: string, text: string): boolean {
  const definitions = { own: new Map<string, string>(), usesEcs: false };
  return compileGrok(`^(?:%{${name}})$`, definitions).pattern.test(text);
}

describe('grok', () => {
  it('reads an access log', () => {
    expect(grok('%{COMBINEDAPACHELOG}', ACCESS)).to.deep.equal({
      clientip: '127.0.0.1',
      ident: '-',
      auth: 'frank',
      timestamp: '10/Oct/2000:13:55:36 -0700',
      verb: 'GET',
      request: '/a.gif',
      httpversion: '1.0',
      response: '200',
      bytes: '2326',
      referrer: 'http://ex.org/',
      agent: 'Mozilla/4.08 [en]',
    });
  });

  it('leaves out groups that did not take part', () => {
    const fields = grok('%{COMMONAPACHELOG}', '::1 - - [10/Oct/2000:13:55:36 +0000] "\\\\x16\\\\x03" 400 -');
    expect(fields).to.include({ clientip: '::1', response: '400' }).and.not.to.have.any.keys('bytes', 'verb');
    expect(fields).to.have.property('rawrequest');
  });

  it('uses names of the Elastic Common Schema', () => {
    const fields = grok('%{COMBINEDAPACHELOG} %{INT:bytes}', `${ACCESS} 7`, ', ecs: true');
    expect(fields).to.include({ 'source.address': '127.0.0.1', 'http.response.status_code': '200', bytes: '7' });
  });

  it('converts to types', () => {
    const pattern = '%{INT:i:int} %{INT:l:long} %{NUMBER:f:float} %{NUMBER:d:double} %{WORD:b:boolean}';
    const run = runProcessors(`- grok: {field: m, patterns: ['${pattern}']}`, '{"m":"1 9007199254740993 1.5 -2 True"}');
    expect(run).to.equal('{"b":true,"d":-2,"f":1.5,"i":1,"l":9007199254740993,"m":"1 9007199254740993 1.5 -2 True"}');
  });

  it('takes the first pattern that matches', () => {
    const pipeline = new TestPipeline(
      `- grok: {field: m, patterns: ['^a=%{INT:a}', '^b=%{INT:b}', '%{GREEDYDATA:c}']}`,
    );
    expect(pipeline.run('{"m":"b=5"}')).to.equal('{"b":"5","m":"b=5"}');
    expect(pipeline.run('{"m":"x"}')).to.equal('{"c":"x","m":"x"}');
  });

  it('uses definitions of the pipeline, groups with names and names of Logstash', () => {
    const more = ', pattern_definitions: {CODE: "E[0-9]+", LINE: "%{CODE:code} (?<rest>.*)"}';
    expect(grok('%{LINE} at %{IP:[source][ip]}', 'E17 full at 10.0.0.1', more)).to.deep.equal({
      code: 'E17',
      rest: 'full',
      'source.ip': '10.0.0.1',
    });
  });

  it('sets a field that several groups have to the first one that matched', () => {
    expect(grok('(?:n=%{INT:v}|t=%{WORD:v})', 't=x')).to.deep.equal({ v: 'x' });
  });

  describe('fails an item', () => {
    const cases: readonly (readonly [pattern: string, text: string, message: string])[] = [
      ['%{IP:a}', 'none', 'Processor grok: no pattern matches none'],
      ['%{NUMBER:n:int}', '1.5', 'Processor grok: "n" is no int: 1.5'],
      ['%{NUMBER:n:int}', '3000000000', 'is no int'],
      ['%{INT:n:long}', '99999999999999999999', 'is no long'],
      ['%{WORD:n:boolean}', 'yes', 'is no boolean'],
      ['%{WORD:n:double}', 'x', 'is no double'],
      ['%{GREEDYDATA:a}', 'x'.repeat(70_000), 'longer than 65536'],
    ];
    for (const [pattern, text, message] of cases) {
      it(`${pattern} with ${text.slice(0, 12)}`, () => {
        const failure = new TestPipeline(`- grok: {field: m, patterns: ['${pattern}']}`).failure(`{"m":"${text}"}`);
        expect(failure).to.contain(message);
      });
    }
  });

  describe('does not compile', () => {
    const cases: readonly (readonly [options: string, message: string])[] = [
      ['', 'Processor grok: missing field: patterns'],
      [`patterns: ['%{NOPE:a}']`, 'pattern NOPE does not exist'],
      [`patterns: ['%{IP:a:ip}']`, 'type ip does not exist: use one of int, long, float, double, boolean'],
      [`patterns: ['%{IP:a']`, '"%{" is not closed'],
      [`patterns: ['%{IP a b}']`, 'is not %{NAME}, %{NAME:field} or %{NAME:field:type}'],
      [`patterns: ['%{A}'], pattern_definitions: {A: '%{B}', B: '%{A}'}`, 'pattern A contains itself'],
      [`patterns: ['(?=x)']`, 'Invalid regex pattern'],
      [`patterns: ['(']`, 'Invalid regex pattern'],
      [`patterns: ['x'], pattern_definitions: {'a b': x}`, 'only letters, digits and _'],
      [`patterns: ['x'], pattern_definitions: [x]`, 'must be a map'],
      [`patterns: [${"'x',".repeat(51)}]`, 'more than 50 patterns'],
    ];
    for (const [options, message] of cases) {
      it(options.slice(0, 70) || 'without patterns', () => {
        expect(buildFailure(`- grok: {field: m${options === '' ? '' : ', '}${options}}`)).to.contain(message);
      });
    }

    it('with patterns that multiply each other', () => {
      const levels = Array.from({ length: 14 }, (_, i) => `P${i}: '${`%{P${i + 1}}`.repeat(10)}'`);
      const definitions = `{${[...levels, 'P14: x'].join(', ')}}`;
      const options = `patterns: ['%{P0}'], pattern_definitions: ${definitions}`;
      expect(buildFailure(`- grok: {field: m, ${options}}`)).to.contain('longer than 32768 bytes');
    });

    it('with patterns that are nested too deeply', () => {
      const levels = Array.from({ length: 20 }, (_, i) => `P${i}: '%{P${i + 1}}'`);
      const definitions = `{${[...levels, 'P20: x'].join(', ')}}`;
      const options = `patterns: ['%{P0}'], pattern_definitions: ${definitions}`;
      expect(buildFailure(`- grok: {field: m, ${options}}`)).to.contain('more than 16 levels');
    });
  });

  it('reads hostile lines in linear time', () => {
    const pipeline = new TestPipeline(
      `- grok: {field: m, patterns: ['%{COMBINEDAPACHELOG}', '%{URI:u} %{EMAILADDRESS:e}$']}`,
    );
    const seconds = (text: string): number => {
      const item = pipeline.item(JSON.stringify({ m: text }));
      const startMs = performance.now();
      expect(() => pipeline.runItem(item)).to.throw('no pattern matches');
      return (performance.now() - startMs) / 1_000;
    };
    for (const part of ['1.1.1.1 - - [10/Oct/2000:13:55:36 -0700] ', 'http://a.b/@a- " "', 'a.a:a"[ - ']) {
      const texts = [8_000, 64_000].map((length) => part.repeat(length / part.length));
      seconds(texts[0]);
      // A pattern that goes back would take longer by the square of the length: 64 times, or much more.
      expect(seconds(texts[1]), part).to.be.lessThan(Math.max(seconds(texts[0]) * 32, 1));
    }
  });

  describe('named patterns', () => {
    it('are at least 120, all of which compile and have a place on their page', () => {
      const page = readFileSync(PAGE, 'utf8');
      for (const name of GROK_PATTERNS.keys()) {
        expect(() => isMatch(name, 'x'), name).not.to.throw();
        expect(page, name).to.match(new RegExp(`\`${name}\``));
      }
      expect(GROK_PATTERNS.size).to.be.greaterThan(119);
    });

    const matching: readonly (readonly [name: string, ...texts: string[]])[] = [
      ['WORD', 'a_1'],
      ['INT', '-7', '+12'],
      ['NUMBER', '1', '-1.5', '.5'],
      ['SCIENTIFIC', '1e9', '2.5E-3'],
      ['BASE16NUM', '0xFf', 'a1'],
      ['BOOLEAN', 'true', 'FALSE'],
      ['QUOTEDSTRING', '"a \\"b\\""', "'x'"],
      ['UUID', '550e8400-e29b-41d4-a716-446655440000'],
      ['URN', 'urn:isbn:0451450523'],
      ['EMAILADDRESS', 'kim+x@mail.example.org'],
      ['VERSION', 'v1.2.3-rc.1', '20.19'],
      ['LOGLEVEL', 'WARN', 'Information', 'err', 'CRITICAL'],
      ['MAC', '00:1a:2B:3c:4d:5e', '001a.2b3c.4d5e', '00-1A-2B-3C-4D-5E'],
      ['IPV4', '255.249.199.0', '1.2.3.4'],
      ['IPV6', '::1', 'fe80::1%eth0', '2001:db8:0:1:1:1:1:1', '::ffff:10.0.0.1', '2001:db8::', '::'],
      ['CIDR', '10.0.0.0/8', '2001:db8::/32'],
      ['HOSTNAME', 'a-b.example.org', 'localhost'],
      ['HOSTPORT', 'example.org:443', '10.0.0.1:80'],
      ['IPV6PORT', '[::1]:80'],
      ['UNIXPATH', '/var/log/a.log'],
      ['WINPATH', 'C:\\Windows\\x.dll'],
      ['URI', 'https://u:p@example.org:8080/a/b?x=1&y=2', 'http://[::1]:80/'],
      ['URIPATHPARAM', '/a?b=c'],
      ['MONTH', 'Jan', 'september'],
      ['DAY', 'Tue', 'Thursday'],
      ['TIME', '23:59:60.5', '07:05'],
      ['DATE', '12/31/1999', '31.12.99'],
      ['TIMESTAMP_ISO8601', '2024-03-01T10:00:00.123Z', '2024-03-01 10:00:00,5+02:00'],
      ['DATESTAMP_RFC2822', 'Fri, 1 Mar 2024 10:00:00 +0000'],
      ['DATESTAMP_RFC822', 'Fri Mar 1 2024 10:00:00 UTC'],
      ['DATESTAMP_OTHER', 'Fri Mar  1 10:00:00 UTC 2024'],
      ['DATESTAMP_EVENTLOG', '20240301100000'],
      ['DATESTAMP_CTIME', 'Fri Mar  1 10:00:00 2024'],
      ['HTTPDATE', '10/Oct/2000:13:55:36 -0700'],
      ['SYSLOGTIMESTAMP', 'Mar  1 10:00:00'],
      ['DURATION', '1.5ms', '7s'],
      ['TTY', '/dev/pts/0', '/dev/tty1'],
      ['SYSLOGLINE', 'Mar  1 10:00:00 web1 sshd[42]: Failed password', '2024-03-01T10:00:00Z web1 app: x'],
      ['SYSLOG5424LINE', '<34>1 2003-10-11T22:14:15.003Z h su - ID47 [a@1 b="c"] failed', '<0>1 - - - - - -'],
      ['CRONLOG', 'Mar  1 10:00:00 web1 CRON[42]: (root) CMD (run-parts /etc/cron.hourly)'],
      ['SYSLOGPAMSESSION', 'Mar  1 10:00:00 h su[4]: pam_unix(su:session): session opened for user root by kim(uid=0)'],
      ['KERNELLOG', '[ 1234.567890] usb 1-1: new device'],
      ['KLOGLINE', 'I0301 10:00:00.123456   42 main.go:17] started'],
      ['CRILINE', '2024-03-01T10:00:00.1Z stdout F hello'],
      ['JAVASTACKTRACEPART', '    at org.example.Main$1.run(Main.java:42)', 'at a.B.<init>(Native Method)'],
      ['CATALINALOG', '01-Mar-2024 10:00:00.123 INFO [main] org.apache.catalina.Server.start Server startup'],
      ['TOMCATLOG', '2024-03-01 10:00:00 | ERROR | org.example.A - no'],
      ['LOG4JLOG', '2024-03-01 10:00:00,123 [main] INFO  org.example.A - started', '2024-03-01 10:00:00 WARN a.B: x'],
      ['PYTHONLOG', '2024-03-01 10:00:00,123 - app.db - ERROR - lost'],
      ['RUBY_LOGGER', 'I, [2024-03-01T10:00:00.123456 #42]  INFO -- main: up'],
      ['REDISLOG', '42:M 01 Mar 2024 10:00:00.123 * Ready to accept connections'],
      ['POSTGRESQL', '2024-03-01 10:00:00.123 UTC [42] kim@shop ERROR:  relation does not exist'],
      ['MYSQLERROR', '2024-03-01T10:00:00.123456Z 0 [Warning] [MY-010055] [Server] low'],
      ['MONGO3_LOG', '2024-03-01T10:00:00.123+0000 I NETWORK  [conn1] end connection'],
      [
        'BIND9',
        '01-Mar-2024 10:00:00.123 queries: info: client @0x7f 10.0.0.1#53 (a.org): query: a.org IN A + (10.0.0.2)',
      ],
      ['SSHD_FAILED', 'Failed password for invalid user admin from 10.0.0.1 port 4711'],
      ['SSHD_ACCEPTED', 'Accepted publickey for kim from 10.0.0.1 port 4711'],
      ['IPTABLES', 'IN=eth0 OUT= MAC=aa SRC=10.0.0.1 DST=10.0.0.2 LEN=40 TTL=64 PROTO=TCP SPT=1 DPT=22'],
      ['HTTPD20_ERRORLOG', '[Fri Mar 01 10:00:00 2024] [error] [client 10.0.0.1] File does not exist'],
      [
        'HTTPD_ERRORLOG',
        '[Fri Mar 01 10:00:00.123 2024] [core:error] [pid 42:tid 7] [client 10.0.0.1:80] AH00037: denied',
      ],
      ['NGINXACCESS', '10.0.0.1 - - [01/Mar/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl/8"'],
      ['NGINXERROR', '2024/03/01 10:00:00 [error] 42#7: *3 open() failed'],
      [
        'HAPROXYHTTP',
        '10.0.0.1:3 [01/Mar/2024:10:00:00.123] web app/s1 1/2/3/4/5 200 17 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"',
      ],
      ['HAPROXYTCP', '10.0.0.1:3 [01/Mar/2024:10:00:00.123] web app/s1 1/2/5 17 -- 1/1/1/1/0 0/0'],
      [
        'ELB_ACCESS_LOG',
        '2024-03-01T10:00:00.1Z lb 10.0.0.1:1 10.0.0.2:80 0.1 0.2 0.3 200 200 0 5 "GET http://a.org:80/ HTTP/1.1"',
      ],
      [
        'S3_ACCESS_LOG',
        'own bkt [01/Mar/2024:10:00:00 +0000] 10.0.0.1 req id REST.GET.OBJECT k "GET /k HTTP/1.1" 200 - 5 5 7 6 "-" "aws"',
      ],
      ['SQUID3', '1709287200.123    45 10.0.0.1 TCP_MISS/200 512 GET http://a.org/ - DIRECT/a.org text/html'],
      ['IISLOG', '2024-03-01 10:00:00 10.0.0.2 GET /a - 80 - 10.0.0.1 curl - 200 0 0 15'],
    ];
    for (const [name, ...texts] of matching) {
      it(`${name} matches what it names`, () => {
        for (const text of texts) expect(isMatch(name, text), text).to.equal(true);
      });
    }

    const other: readonly (readonly [name: string, ...texts: string[]])[] = [
      ['IPV4', '256.1.1.1', '1.2.3', '1.2.3.4.'],
      ['IPV6', '12:30:45', 'g::1', '1:2:3:4:5:6:7'],
      ['UUID', '550e8400-e29b-41d4-a716-44665544000'],
      ['TIME', '24:00:00', '1:60'],
      ['MONTHDAY', '32'],
      ['INT', '1.5'],
      ['LOGLEVEL', 'warned'],
      ['TIMESTAMP_ISO8601', '2024-13-01T10:00:00Z'],
    ];
    for (const [name, ...texts] of other) {
      it(`${name} does not match anything else`, () => {
        for (const text of texts) expect(isMatch(name, text), text).to.equal(false);
      });
    }
  });
});
