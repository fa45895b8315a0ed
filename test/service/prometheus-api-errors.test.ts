import { expect } from 'chai';

import { PromRig } from '#test/support/prom-rig';

describe("errors of Prometheus's HTTP API", () => {
  let rig: PromRig;

  before(async () => {
    rig = await PromRig.start();
  });

  after(() => rig.stop());
  afterEach(() => expect(rig.samples.openCount).to.equal(0));

  const RANGE = { start: '0', end: '600', step: '60' };

  it("have Prometheus's messages", async () => {
    const texts: Readonly<Record<string, string>> = {
      '': '1:1: parse error: no expression found in input',
      'sum(': '1:5: parse error: unclosed left parenthesis',
      'foo{}bar': '1:6: parse error: unexpected identifier "bar"',
      '{}': '1:1: parse error: vector selector must contain at least one non-empty matcher',
      'foo(up)': '1:1: parse error: unknown function with name "foo"',
      'rate(up)': '1:6: parse error: expected type range vector in call to function "rate", got instant vector',
      '1 == 1': '1:3: parse error: comparisons between scalars must use BOOL modifier',
      'up{job=~"(fake"}': '1:4: parse error: error parsing regexp: missing closing ): `(fake`',
      '1e400': '1:1: parse error: error parsing number: strconv.ParseFloat: parsing "1e400": value out of range',
      'sum by (job, up{cluster=""}': '1:16: parse error: unexpected "{" in grouping opts, expected "," or ")"',
      '"a" + 1': '1:1: parse error: binary expression must contain only scalar and instant vector types',
    };
    for (const [query, text] of Object.entries(texts)) {
      for (const path of ['/query', '/format_query', '/parse_query']) {
        expect(await rig.error(path, { query })).to.deep.equal([400, 'bad_data', `invalid parameter "query": ${text}`]);
      }
      expect(await rig.error('/query_exemplars', { query })).to.deep.equal([400, 'bad_data', text]);
    }
  });

  it('name the invalid parameter', async () => {
    const stamp = (name: string, text: string): string =>
      `invalid parameter "${name}": cannot parse "${text}" to a valid timestamp`;
    const time = `invalid time value for 'time': cannot parse "abc" to a valid timestamp`;
    const range = { ...RANGE, query: 'up' };
    const tooMany =
      'exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)';
    const step = 'invalid parameter "step": ';
    const cases: [string, Record<string, string>, string][] = [
      ['/query', { query: 'up', time: 'abc' }, `invalid parameter "time": ${time}`],
      [
        '/query',
        { query: 'up', timeout: 'abc' },
        'invalid parameter "timeout": cannot parse "abc" to a valid duration',
      ],
      [
        '/query',
        { query: 'up', lookback_delta: 'zz' },
        'error parsing lookback delta duration: cannot parse "zz" to a valid duration',
      ],
      [
        '/query',
        { query: 'up', lookback: 'zz' },
        'error parsing lookback delta duration: cannot parse "zz" to a valid duration',
      ],
      [
        '/query',
        { query: 'up', limit: 'abc' },
        'invalid parameter "limit": strconv.Atoi: parsing "abc": invalid syntax',
      ],
      ['/query', { query: 'up', limit: '-1' }, 'invalid parameter "limit": limit must be non-negative'],
      ['/query_range', {}, stamp('start', '')],
      ['/query_range', { ...range, end: 'x' }, stamp('end', 'x')],
      ['/query_range', { ...range, end: '-1' }, 'invalid parameter "end": end timestamp must not be before start time'],
      [
        '/query_range',
        { ...range, step: '0' },
        `${step}zero or negative query resolution step widths are not accepted. Try a positive integer`,
      ],
      ['/query_range', { ...range, step: 'abc' }, `${step}cannot parse "abc" to a valid duration`],
      ['/query_range', { ...range, step: '1', end: '11001' }, tooMany],
      [
        '/query_range',
        { ...range, query: 'up[5m]' },
        'invalid parameter "query": invalid expression type "range vector" for range query, must be Scalar or instant Vector',
      ],
      [
        '/labels',
        { start: 'abc' },
        `invalid parameter "start": invalid time value for 'start': cannot parse "abc" to a valid timestamp`,
      ],
      ['/labels', { 'match[]': '{a=""}' }, 'match[] must contain at least one non-empty matcher'],
      ['/label/a/values', { 'match[]': '{}' }, 'match[] must contain at least one non-empty matcher'],
      ['/label/U__/values', {}, 'invalid label name: ""'],
      ['/series', {}, 'no match[] parameter provided'],
      [
        '/series',
        { 'match[]': '{a=""}' },
        'invalid parameter "match[]": match[] must contain at least one non-empty matcher',
      ],
      ['/series', { 'match[]': 'up[5m]' }, 'invalid parameter "match[]": 1:3: parse error: unexpected "["'],
      ['/metadata', { limit: 'x' }, 'limit must be a number'],
      ['/rules', { type: 'x' }, 'invalid parameter "type": not supported value "x"'],
      [
        '/query',
        { query: 'up{__database__!="x"}' },
        `invalid parameter "query": Invalid query: expected a non-empty equality matcher for '__database__'`,
      ],
      [
        '/query',
        { query: 'up', time: '1e30' },
        `invalid parameter "time": invalid time value for 'time': cannot parse "1e30" to a valid timestamp`,
      ],
    ];
    for (const [path, parameters, text] of cases) {
      expect(await rig.error(path, parameters), path).to.deep.equal([400, 'bad_data', text]);
    }
    const most = await rig.get('/query_range', { ...range, query: '1', step: '1', end: '11000' });
    expect(most.status).to.equal(200);
  });

  it('describe what failed in evaluation', async () => {
    const [status, type, text] = await rig.error('/query', { query: 'up * on (job) up', time: '0' });
    expect([status, type]).to.deep.equal([422, 'execution']);
    expect(text).to.match(
      /^found duplicate series for the match group \{job="a"\} on the right hand-side of the operation: \[\{.*\}, \{.*\}\];many-to-many matching not allowed: matching labels must be unique on one side$/,
    );
    const same = { query: 'label_replace(up, "instance", "", "", "")', time: '0' };
    expect(await rig.error('/query', same)).to.deep.equal([
      ...[422, 'execution', 'vector cannot contain metrics with the same labelset'],
    ]);
    expect(await rig.error('/query_range', { query: 'up', start: '0', end: '10000', step: '1' })).to.deep.equal([
      ...[422, 'execution', 'query processing would load too many samples into memory in query execution'],
    ]);
    expect(await rig.error('/query', { query: 'up', timeout: '0' })).to.deep.equal([
      ...[503, 'timeout', 'query timed out in expression evaluation'],
    ]);
    const { json } = await rig.get('/query', { query: 'sum(' });
    expect(Object.keys(json)).to.deep.equal(['status', 'errorType', 'error', 'code']);
  });

  it('end queries that wait for storage at their deadline', async () => {
    rig.samples.isStuck = true;
    expect(await rig.error('/query', { query: 'up', timeout: '50ms' })).to.deep.equal([
      ...[503, 'timeout', 'query timed out in expression evaluation'],
    ]);
    rig.samples.isStuck = false;
  });
});
