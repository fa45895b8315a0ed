import { readFileSync } from 'node:fs';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const CASES = new URL('../../../test/conformance/pipelines/cases.json', import.meta.url);
const NOW_TOLERANCE_S = 60;
const UNITS: Readonly<Record<string, number>> = { SECOND: 1, MILLISECOND: 1e3, MICROSECOND: 1e6, NANOSECOND: 1e9 };

type Row = Readonly<Record<string, unknown>>;

interface ExpectedTable {
  readonly table_suffix: string;
  readonly options?: Row;
  readonly columns?: readonly (readonly [name: string, type: string, use: string])[];
  readonly rows: readonly Row[];
}

interface PipelineCase {
  readonly name: string;
  readonly pipeline: string;
  readonly pipelines?: Readonly<Record<string, string>>;
  readonly input: string | readonly unknown[];
  readonly content_type?: string;
  readonly params?: Row;
  readonly expect?: readonly ExpectedTable[];
  readonly error?: { readonly phase: 'build' | 'decode' | 'exec'; readonly contains: string };
}

interface Cell {
  readonly key: string;
  readonly value: unknown;
  readonly data_type: string;
  readonly semantic_type: string;
}

interface ReportedTable {
  readonly table_name: string;
  readonly schema: readonly { name: string; data_type: string; column_type: string }[];
  readonly rows: readonly (readonly Cell[])[];
  readonly options?: Row;
}

/** Cases of pipelines that others wrote (../shared/conformance); each is run over HTTP, dry and for real. */
describe('conformance: pipelines', () => {
  const cases = JSON.parse(readFileSync(CASES, 'utf8')) as PipelineCase[];
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after), { environment: { ALMANAC__NAMING: 'greptime' } });
  });

  after(() => almanac.stop());

  async function upload(name: string, text: string): Promise<{ status: number; text: string }> {
    return almanac.post(`/v1/pipelines/${name}`, text, { 'content-type': 'application/yaml' });
  }

  for (const [i, it_] of cases.entries()) {
    it(it_.name, async () => {
      for (const [name, text] of Object.entries(it_.pipelines ?? {})) {
        expect((await upload(name, text)).status, name).to.equal(200);
      }
      const isIdentity = it_.pipeline === 'greptime_identity';
      const name = isIdentity ? it_.pipeline : `case_${i}`;
      if (!isIdentity) {
        const { status, text } = await upload(name, it_.pipeline);
        if (it_.error?.phase === 'build') {
          expect(status).to.equal(400);
          expect(text).to.contain(JSON.stringify(it_.error.contains).slice(1, -1));
          return;
        }
        expect(status, text).to.equal(200);
      }
      await dryRun(it_, name);
      await ingest(it_, name, `t${i}`);
    });
  }

  async function dryRun(
    { input, content_type = 'application/json', params, ...it_ }: PipelineCase,
    name: string,
  ): Promise<void> {
    const data = typeof input === 'string' ? input : JSON.stringify(input);
    const body = JSON.stringify({ pipeline_name: name, data_type: content_type, data, params });
    const { status, text } = await almanac.post('/v1/pipelines/_dryrun', body, { 'content-type': 'application/json' });
    if (it_.error !== undefined) return expectError(status, text, it_.error.contains);
    expect(status, text).to.equal(200);
    const reports = parseExact(text) as ReportedTable[];
    expect(reports.map(({ table_name }) => table_name)).to.have.members(
      (it_.expect ?? []).map(({ table_suffix }) => `dry_run${table_suffix}`),
    );
    for (const table of it_.expect ?? []) {
      const report = reports.find(
        ({ table_name, options }) =>
          table_name === `dry_run${table.table_suffix}` &&
          JSON.stringify(sorted(options ?? {})) === JSON.stringify(sorted(table.options ?? {})),
      );
      expect(report, `${table.table_suffix} of ${text}`).not.to.equal(undefined);
      if (report === undefined) return;
      if (table.columns !== undefined) {
        const columns = report.schema.map((column) => [column.name, column.data_type, column.column_type]);
        expect(columns).to.deep.equal(table.columns);
      }
      const types = new Map(report.schema.map((column) => [column.name, column.data_type]));
      const rows = report.rows.map((cells) => Object.fromEntries(cells.map(({ key, value }) => [key, value])));
      expectRows(rows, table.rows, types);
    }
  }

  async function ingest(it_: PipelineCase, name: string, table: string): Promise<void> {
    const { input, content_type = 'application/json', params = {} } = it_;
    const query = new URLSearchParams({ table, pipeline_name: name });
    for (const [key, value] of Object.entries(params)) query.set(key, String(value));
    const body = typeof input === 'string' ? input : JSON.stringify(input);
    const headers = {
      'content-type': content_type,
      'x-greptime-pipeline-params': `max_nested_levels=${Number(params['max_nested_levels'] ?? 10)}`,
    };
    const { status, text } = await almanac.post(`/v1/ingest?${query.toString()}`, body, headers);
    const tables = (await rowsOf('SHOW TABLES')).map((row) => Object.values(row)[0]);
    const written = tables.filter((it) => it === table || String(it).startsWith(`${table}_`));
    if (it_.error !== undefined) {
      expect(written, 'tables').to.deep.equal([]);
      return expectError(status, text, it_.error.contains);
    }
    expect(status, text).to.equal(200);
    const suffixes = new Set((it_.expect ?? []).map(({ table_suffix }) => table_suffix));
    expect(written).to.have.members([...suffixes].map((suffix) => table + suffix));
    for (const suffix of suffixes) {
      const expected = (it_.expect ?? []).filter(({ table_suffix }) => table_suffix === suffix);
      const described = await rowsOf(`DESC TABLE "${table}${suffix}"`);
      const types = new Map(described.map((row) => [String(row['Column']), upper(String(row['Type']))]));
      // Rows of 1970 expire at once where a row names a retention.
      if (expected.some(({ options }) => options?.['ttl'] !== undefined)) continue;
      const rows = await rowsOf(`SELECT * FROM "${table}${suffix}"`);
      expectRows(
        rows,
        expected.flatMap((it) => it.rows),
        types,
        false,
      );
      for (const [column, type, use] of expected.flatMap(({ columns = [] }) => columns)) {
        expect(types.get(column), column).to.equal(type.replace('_', ''));
        const semantic = described.find((row) => row['Column'] === column)?.['Semantic Type'];
        expect(semantic).to.equal(use);
      }
    }
  }

  async function rowsOf(sql: string): Promise<Row[]> {
    const { status, text } = await almanac.post('/v1/sql', new URLSearchParams({ sql }).toString(), {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(status, text).to.equal(200);
    const [output] = (
      parseExact(text) as {
        output: { records: { schema: { column_schemas: { name: string }[] }; rows: unknown[][] } }[];
      }
    ).output;
    const names = output.records.schema.column_schemas.map(({ name }) => name);
    return output.records.rows.map((row) => Object.fromEntries(row.map((value, i) => [names[i], value])));
  }
});

function upper(type: string): string {
  return type.toUpperCase();
}

function expectError(status: number, text: string, contains: string): void {
  expect(status, text).to.equal(400);
  expect((JSON.parse(text) as { error: string }).error).to.contain(contains);
}

function expectRows(
  rows: readonly Row[],
  expected: readonly Row[],
  types: ReadonlyMap<string, string>,
  isOrdered = true,
): void {
  const actual = rows.map((row) => rowText(row, types));
  const wanted = expected.map((row) => rowText(row, types));
  if (isOrdered) expect(actual).to.deep.equal(wanted);
  else expect(actual.sort()).to.deep.equal(wanted.sort());
}

/** Returns a row as a text that is equal for equal rows: without nulls, the current time as `@now`. */
function rowText(row: Row, types: ReadonlyMap<string, string>): string {
  const cells = Object.entries(row).filter(([, value]) => value !== null);
  return JSON.stringify(
    sorted(Object.fromEntries(cells.map(([name, value]) => [name, cellText(value, types.get(name) ?? '')]))),
  );
}

function cellText(value: unknown, type: string): unknown {
  if (value === '@now') return value;
  if (type.startsWith('TIMESTAMP')) {
    const perSecond = UNITS[type.replace(/^TIMESTAMP_?/, '')];
    const seconds = Number(value) / perSecond;
    return Math.abs(seconds - Date.now() / 1000) <= NOW_TOLERANCE_S ? '@now' : String(value);
  }
  if (type === 'JSON') return JSON.stringify(sorted(typeof value === 'string' ? JSON.parse(value) : value));
  return typeof value === 'number' ? String(value) : value;
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]));
}

/** Parses JSON with integers of more than 15 digits as texts. */
function parseExact(text: string): unknown {
  return JSON.parse(text.replace(/(?<=[:[,])-?\d{16,}(?=[,\]}])/g, '"$&"'));
}
