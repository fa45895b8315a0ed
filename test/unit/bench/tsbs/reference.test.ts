import { expect } from 'chai';
import { checkAnswer } from '#test/bench/tsbs/check';
import { FIELD_COUNT, FIELD_NAMES, START_SECONDS, type TsbsData } from '#test/bench/tsbs/generator';
import { QUERY_KINDS, type QueryKind, type TsbsQuery } from '#test/bench/tsbs/queries';
import { answer } from '#test/bench/tsbs/reference';

const TAGS = ['eu-west-1', 'eu-west-1a', '1', 'Ubuntu15.10', 'x64', 'SF', '2', '0', 'test'];

/** Two hosts, eight points: `usage_user` of each by point, `usage_system` always 7, the rest 0. */
const USAGE_USER = [
  [10, 95, 30, 40, 50, 60, 91, 20],
  [90, 20, 10, 5, 5, 5, 5, 99],
];
const DATA: TsbsData = {
  shape: { hosts: 2, steps: 8, seed: 0 },
  hostTags: [
    ['host_0', ...TAGS],
    ['host_1', ...TAGS],
  ],
  values: Uint8Array.from({ length: 2 * 8 * FIELD_COUNT }, (_, i) => {
    const row = Math.floor(i / FIELD_COUNT);
    const field = i % FIELD_COUNT;
    return field === 0 ? USAGE_USER[row % 2][Math.floor(row / 2)] : Number(field === 1) * 7;
  }),
};
const T0 = START_SECONDS;
const REST = [7, 0, 0, 0, 0, 0, 0, 0, 0];

describe('TSBS reference', () => {
  it('computes the maximum per minute, of the selected hosts within the range', () => {
    const found = answer(query('single-groupby-5-1-1', [0], T0 + 15, T0 + 70), DATA);
    expect(found.columns.map((column) => column.name)).to.deep.equal([
      'minute',
      'max_usage_user',
      'max_usage_system',
      'max_usage_idle',
      'max_usage_nice',
      'max_usage_iowait',
    ]);
    expect(found.rows).to.deep.equal([
      [T0, 60, 7, 0, 0, 0],
      [T0 + 60, 91, 7, 0, 0, 0],
    ]);
  });

  it('includes the start of a range and excludes its end', () => {
    const found = answer(query('single-groupby-1-1-1', [0], T0 + 20, T0 + 40), DATA);
    expect(found.rows).to.deep.equal([[T0, 40]]);
  });

  it('computes the maximum per hour over several hosts', () => {
    const found = answer(query('cpu-max-all-8', [0, 1], T0, T0 + 3600), DATA);
    expect(found.rows).to.deep.equal([[T0, 99, ...REST]]);
  });

  it('computes means for each host and hour', () => {
    const found = answer(query('double-groupby-1', [0, 1], T0, T0 + 80), DATA);
    expect(found.rows).to.deep.equal([
      [T0, 'host_0', 49.5],
      [T0, 'host_1', 29.875],
    ]);
  });

  it('finds rows above 90, not at 90', () => {
    const found = answer(query('high-cpu-all', [0, 1], T0, T0 + 80), DATA);
    expect(found.rows).to.deep.equal([
      [T0 + 10, 'host_0', ...TAGS, 95, ...REST],
      [T0 + 60, 'host_0', ...TAGS, 91, ...REST],
      [T0 + 70, 'host_1', ...TAGS, 99, ...REST],
    ]);
  });

  it('finds the newest row of each host', () => {
    const found = answer(query('lastpoint', [0, 1], T0, T0 + 80), DATA);
    expect(found.rows).to.deep.equal([
      [T0 + 70, 'host_0', ...TAGS, 20, ...REST],
      [T0 + 70, 'host_1', ...TAGS, 99, ...REST],
    ]);
  });

  it('lists the last minutes before a time, newest first', () => {
    const found = answer(query('groupby-orderby-limit', [0, 1], T0 + 65, T0 + 70), DATA);
    expect(found.rows).to.deep.equal([
      [T0 + 60, 91],
      [T0, 95],
    ]);
  });
});

describe('checkAnswer', () => {
  const expected = answer(query('lastpoint', [0, 1], T0, T0 + 80), DATA);
  const columns = expected.columns.map(({ name, type }) => ({
    name,
    data_type: { time: 'TimestampNanosecond', text: 'String', number: 'Int64' }[type],
  }));
  const rows = expected.rows.map((row) => [`${row[0]}000000000`, ...row.slice(1).map((cell) => JSON.stringify(cell))]);

  it('accepts rows in any order unless one was requested', () => {
    expect(checkAnswer(expected, body(columns, rows.toReversed()))).to.equal('');
    expect(checkAnswer({ ...expected, ordered: true }, body(columns, rows.toReversed()))).to.include('row 0');
  });

  it('accepts columns in any order', () => {
    expect(
      checkAnswer(
        expected,
        body(
          columns.toReversed(),
          rows.map((row) => row.toReversed()),
        ),
      ),
    ).to.equal('');
  });

  it('reports a missing row, a missing column, a wrong number and an error', () => {
    expect(checkAnswer(expected, body(columns, rows.slice(1)))).to.equal('1 rows instead of 2');
    const shorter = rows.map((row) => row.slice(1));
    expect(checkAnswer(expected, body(columns.slice(1), shorter))).to.include('columns hostname');
    expect(checkAnswer(expected, body(columns, rows).replace(/,20,/, ',20.0001,'))).to.include('20.0001 instead of 20');
    expect(checkAnswer(expected, '{"code":4001,"error":"x"}')).to.equal('no records: {"code":4001,"error":"x"}');
  });

  it('reports a time that is one nanosecond off', () => {
    const off = body(columns, rows).replaceAll('1451606470000000000', '1451606470000000001');
    expect(checkAnswer(expected, off)).to.include('1451606470000000001 ns');
  });
});

function query(kind: QueryKind, hosts: readonly number[], from: number, to: number): TsbsQuery {
  const sizes = QUERY_KINDS[kind];
  return {
    kind,
    shape: sizes.shape,
    fields: FIELD_NAMES.slice(0, sizes.fields),
    hosts,
    choosesHosts: sizes.hosts !== 0,
    from,
    to,
  };
}

function body(columns: readonly object[], rows: readonly (readonly string[])[]): string {
  const text = rows.map((row) => `[${row.join(',')}]`).join(',');
  return `{"output":[{"records":{"schema":{"column_schemas":${JSON.stringify(columns)}},"rows":[${text}],"total_rows":${rows.length}}}],"execution_time_ms":1}`;
}
