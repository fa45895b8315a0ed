import { expect } from 'chai';

import { describeCalls, grafanaHeaders, type CallReply, type RecordedCall } from '#test/support/recorded-calls';
import { SPANS_START_US, spansRequest } from '#test/support/spans';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const START_MS = SPANS_START_US / 1_000;
const FROM = '2023-11-14T22:13:00.000Z';
const TO = '2023-11-14T22:16:00.000Z';
const LOGS = '"public"."opentelemetry_logs"';
const LOGS_IN_RANGE = `FROM ${LOGS} WHERE ( "timestamp" >= '${FROM}' AND "timestamp" <= '${TO}' )`;
const TRACES = '"public"."opentelemetry_traces"';
/** Texts of levels that the plugin looks for, for each level that it draws. */
const LEVELS = {
  error: ['error', 'err', 'ERROR', 'ERR', 'Error', 'Err'],
  info: ['info', 'information', 'INFO', 'INFORMATION', 'Info', 'Information'],
};

interface Records {
  readonly schema: { readonly column_schemas: readonly { readonly name: string; readonly data_type: string }[] };
  readonly rows: readonly (readonly unknown[])[];
}

interface Body {
  readonly output: readonly { readonly records: Records }[];
  readonly code?: number;
  readonly error?: string;
}

type Columns = Readonly<Record<string, string>>;

const sql = (text: string): Pick<RecordedCall, 'path' | 'form' | 'headers'> => ({
  path: '/v1/sql',
  form: new URLSearchParams({ sql: text }).toString(),
  headers: { accept: 'application/json' },
});

/** Checks names and types of the columns, and the rows. */
const returns =
  (columns: Columns, check: (rows: unknown[][]) => void): NonNullable<RecordedCall['holds']> =>
  (reply: CallReply) => {
    const { output, code, error } = reply.json() as Body;
    expect([code, error]).to.deep.equal([undefined, undefined]);
    expect(output).to.have.length(1);
    const { schema, rows } = output[0].records;
    const named = schema.column_schemas.map(({ name, data_type: type }) => [name, type]);
    expect(named).to.deep.equal(Object.entries(columns));
    check(rows as unknown[][]);
  };

const are = (columns: Columns, expected: unknown[][]): NonNullable<RecordedCall['holds']> =>
  returns(columns, (rows) => {
    expect(rows).to.deep.equal(expected);
  });

const counted = (column: string, level: readonly string[]): string =>
  `sum(CAST(${level.map((word) => `INSTR(("${column}"), '${word}') > 0`).join(' OR ')} AS INTEGER))`;

const CALLS: readonly RecordedCall[] = [
  { purpose: 'saves and tests the data source', ...sql('SELECT 1'), holds: are({ '1': 'Int64' }, [[1]]) },
  {
    purpose: 'lists databases',
    ...sql('SHOW DATABASES'),
    holds: returns({ Database: 'String' }, (rows) => expect(rows).to.deep.include.members([['metrics'], ['public']])),
  },
  {
    purpose: 'lists tables',
    ...sql('SHOW TABLES FROM "public"'),
    holds: (reply) => {
      const [{ records }] = (reply.json() as Body).output;
      expect(records.rows).to.deep.include.members([['cpu'], ['opentelemetry_logs'], ['opentelemetry_traces']]);
    },
  },
  {
    purpose: 'lists columns with their types',
    ...sql('DESC TABLE "public"."cpu"'),
    holds: (reply) => {
      const [{ records }] = (reply.json() as Body).output;
      expect(records.rows.map(([name, type]) => [name, type])).to.deep.equal([
        ['host', 'String'],
        ['ts', 'TimestampMillisecond'],
        ['usage', 'Float64'],
        ['cores', 'Int32'],
        ['on', 'Boolean'],
      ]);
    },
  },
  {
    purpose: 'lists names of columns for a variable',
    ...sql(
      "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 'cpu' ORDER BY ordinal_position",
    ),
    holds: are({ column_name: 'String' }, [['host'], ['ts'], ['usage'], ['cores'], ['on']]),
  },
  {
    purpose: 'lists values of a column for a variable',
    ...sql('SELECT DISTINCT "host" AS value FROM "public"."cpu" WHERE "host" IS NOT NULL ORDER BY value LIMIT 1000'),
    holds: are({ value: 'String' }, [['a'], ['b']]),
  },
  {
    purpose: 'lists columns for filters',
    ...sql(
      "SELECT column_name AS name, greptime_data_type AS type, table_name AS table FROM INFORMATION_SCHEMA.COLUMNS WHERE table_schema IN ('public') AND table_name = 'cpu'",
    ),
    holds: returns({ name: 'String', type: 'String', table: 'String' }, (rows) => {
      expect(rows).to.deep.include.members([
        ['host', 'String', 'cpu'],
        ['usage', 'Float64', 'cpu'],
      ]);
    }),
  },
  {
    purpose: 'lists values for filters',
    ...sql('SELECT DISTINCT "host" FROM "public"."cpu" LIMIT 1000'),
    holds: returns({ host: 'String' }, (rows) => expect(rows).to.have.deep.members([['a'], ['b']])),
  },
  {
    purpose: 'draws a time series of its builder',
    ...sql(
      `SELECT date_bin('1m', ts) as "time", host, max(usage) FROM "public"."cpu" WHERE ( ts >= '${FROM}' AND ts <= '${TO}' ) GROUP BY host, time ORDER BY time ASC`,
    ),
    holds: returns({ time: 'TimestampMillisecond', host: 'String', 'max(usage)': 'Float64' }, (rows) => {
      expect(rows.filter(([, host]) => host === 'a')).to.deep.equal([
        [START_MS - 20_000, 'a', 39.5],
        [START_MS + 40_000, 'a', 59.5],
      ]);
    }),
  },
  {
    purpose: 'draws a time series of the editor',
    ...sql(
      `SELECT date_bin('15s', "ts") AS time, avg("usage") AS "usage" FROM "cpu" WHERE "ts" >= '${FROM}' AND "ts" <= '${TO}' AND host IN ('a','b') GROUP BY 1 ORDER BY 1`,
    ),
    holds: returns({ time: 'TimestampMillisecond', usage: 'Float64' }, (rows) => expect(rows).to.have.length(5)),
  },
  {
    purpose: 'draws a table',
    ...sql('SELECT host, ts, usage, cores, "on" FROM "public"."cpu" WHERE ( "cores" > 0 ) LIMIT 1000'),
    holds: returns(
      { host: 'String', ts: 'TimestampMillisecond', usage: 'Float64', cores: 'Int32', on: 'Boolean' },
      (rows) => {
        expect(rows).to.have.length(120);
        expect(rows).to.deep.include(['b', START_MS + 1_000, 1.5, 8, true]);
      },
    ),
  },
  {
    purpose: 'draws an empty table',
    ...sql('SELECT host, usage FROM "public"."cpu" WHERE ( "cores" > 100 ) LIMIT 1000'),
    holds: are({ host: 'String', usage: 'Float64' }, []),
  },
  {
    purpose: 'shows logs',
    ...sql(
      `SELECT "timestamp" as "timestamp", "body" as "body", "severity_text" as "level" ${LOGS_IN_RANGE} AND ( "severity_text" = 'ERROR' ) ORDER BY timestamp DESC LIMIT 1000`,
    ),
    holds: returns({ timestamp: 'TimestampNanosecond', body: 'String', level: 'String' }, (rows) => {
      expect(rows).to.have.length(10);
      expect(rows[0].slice(1)).to.deep.equal(['request 18 failed', 'ERROR']);
    }),
  },
  ...[
    [`( "body" @@ 'failed' )`, 10],
    [`( NOT ( "body" @@ 'failed' ) )`, 10],
    [`( lower("body") @@ 'request' )`, 20],
    [`( "body" LIKE '%17%' )`, 1],
    [`( "trace_id" IS NOT NULL ) AND ( "trace_id" = '${TRACE}' )`, 20],
  ].map(([condition, count]) => ({
    purpose: `searches logs by ${condition}`,
    ...sql(`SELECT "timestamp" as "timestamp", "body" as "body" ${LOGS_IN_RANGE} AND ${condition} LIMIT 1000`),
    holds: returns({ timestamp: 'TimestampNanosecond', body: 'String' }, (rows) =>
      expect(rows).to.have.length(Number(count)),
    ),
  })),
  {
    purpose: 'draws the volume of logs by level',
    ...sql(
      `SELECT date_bin('1m', "timestamp") as "time", ${Object.entries(LEVELS)
        .map(([level, words]) => `${counted('severity_text', words)} as ${level}`)
        .join(', ')} ${LOGS_IN_RANGE} GROUP BY time ORDER BY time ASC`,
    ),
    holds: (reply) => {
      const [{ records }] = (reply.json() as Body).output;
      expect(records.rows.map((row) => row.slice(1).map(Number))).to.deep.equal([[10, 10]]);
    },
  },
  {
    purpose: 'draws the volume of logs',
    ...sql(
      `SELECT date_bin('1s', "timestamp") as "time", count(*) as logs ${LOGS_IN_RANGE} GROUP BY date_bin('1s', "timestamp") ORDER BY time ASC`,
    ),
    holds: returns({ time: 'TimestampNanosecond', logs: 'Int64' }, (rows) => expect(rows).to.have.length(20)),
  },
  {
    purpose: 'shows the context of a line',
    ...sql(
      `SELECT "timestamp" as "timestamp", "body" as "body", "severity_text" as "level" FROM ${LOGS} WHERE ( "timestamp" >= '2023-11-14T22:13:30.000Z' ) AND ( "timestamp" <= '${TO}' ) AND ( scope_name = 'tracer' ) ORDER BY timestamp ASC LIMIT 10`,
    ),
    holds: returns({ timestamp: 'TimestampNanosecond', body: 'String', level: 'String' }, (rows) => {
      expect(rows.map(([, body]) => body))
        .to.have.length(10)
        .and.to.include('request 10 failed');
    }),
  },
  {
    purpose: 'shows a trace',
    ...sql(
      'SELECT "trace_id" as "traceID", "span_id" as "spanID", "parent_span_id" as "parentSpanID", "service_name" as "serviceName", ' +
        '"span_name" as "operationName", CAST(to_unixtime("timestamp") * 1000 AS BIGINT) as "startTime", ' +
        'FLOOR("duration_nano" * 0.000001) AS "duration", ' +
        `CASE WHEN "span_status_code" IN ('Error', 'STATUS_CODE_ERROR') THEN 2 ELSE 0 END as "statusCode" ` +
        `FROM ${TRACES} WHERE trace_id = '${TRACE}' LIMIT 1000`,
    ),
    holds: (reply) => {
      const [{ records }] = (reply.json() as Body).output;
      expect(records.rows).to.have.length(2);
      expect(records.rows).to.deep.include([
        ...[TRACE, 'b7ad6b7169203331', null, 'shop', 'GET /orders', START_MS, 5, 2],
      ]);
    },
  },
  {
    purpose: 'searches traces',
    ...sql(
      'SELECT "trace_id" as "traceID", "service_name" as "serviceName", "span_name" as "operationName", "timestamp" as "startTime", ' +
        `FLOOR("duration_nano" * 0.000001) AS "duration" FROM ${TRACES} WHERE ( "timestamp" >= '${FROM}' AND "timestamp" <= '${TO}' ) ` +
        'AND ( "parent_span_id" IS NULL ) AND ( "duration_nano" > 0 ) ORDER BY "timestamp" DESC, "duration_nano" DESC LIMIT 1000',
    ),
    holds: (reply) => {
      const [{ records }] = (reply.json() as Body).output;
      expect(records.rows.map(([, service]) => service)).to.deep.equal(['shop']);
    },
  },
  {
    purpose: 'reads the database that is set',
    ...sql('SELECT host FROM in_metrics'),
    headers: { 'x-greptime-db-name': 'metrics' },
    holds: are({ host: 'String' }, [['m']]),
  },
  {
    purpose: 'shows the error of a statement',
    ...sql('SELECT nothing FROM "public"."cpu"'),
    status: 400,
    holds: (reply) => {
      const { code, error } = reply.json() as Body;
      expect(code).to.be.greaterThan(0);
      expect(error).to.contain('nothing');
    },
  },
];

function logsRequest(): string {
  const logRecords = Array.from({ length: 20 }, (_none, i) => ({
    timeUnixNano: `${START_MS + 1_000 * i}000000`,
    severityText: i % 2 === 0 ? 'ERROR' : 'INFO',
    severityNumber: i % 2 === 0 ? 17 : 9,
    body: { stringValue: `request ${i} ${i % 2 === 0 ? 'failed' : 'done'}` },
    traceId: TRACE,
    spanId: 'b7ad6b7169203331',
  }));
  return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ scope: { name: 'tracer' }, logRecords }] }] });
}

describeCalls("Grafana's GreptimeDB plugin", {
  base: '',
  headers: grafanaHeaders(),
  calls: CALLS,
  async seed(send) {
    const rows = ['a', 'b'].flatMap((host, n) =>
      Array.from({ length: 60 }, (_none, i) => `('${host}', ${START_MS + 1_000 * i}, ${i}.5, ${4 * (n + 1)}, true)`),
    );
    const json = { 'content-type': 'application/json' };
    for (const statement of [
      'CREATE TABLE cpu (host STRING, ts TIMESTAMP(3) TIME INDEX, usage DOUBLE, cores INT, "on" BOOLEAN, PRIMARY KEY (host))',
      `INSERT INTO cpu VALUES ${rows.join(', ')}`,
      'CREATE DATABASE metrics',
    ]) {
      await send('/v1/sql', JSON.stringify({ sql: statement }), json);
    }
    await send('/v1/lineproto/write?db=metrics', 'in_metrics,host=m v=1 1');
    const root = { trace: TRACE, span: 'b7ad6b7169203331', service: 'shop', name: 'GET /orders', kind: 2 };
    const child = { trace: TRACE, span: 'b7ad6b7169203332', parent: root.span, service: 'store', name: 'query' };
    const spans = spansRequest([{ ...root, durationUs: 5_000, more: { status: { code: 2 } } }, child]);
    await send('/v1/otlp/v1/traces', spans, json);
    await send('/v1/otlp/v1/logs', logsRequest(), json);
  },
});
