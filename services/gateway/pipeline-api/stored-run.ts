import type { Call } from '#shared/contracts/call';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';
import { parseDurationNs } from '#shared/time/duration';

import type { PipelineLibrary, PipelineName } from '../pipelines/library.js';
import { DROPPED } from '../pipelines/processors/processor.js';
import type { StepObserver } from '../pipelines/run.js';
import { printValue } from '../pipelines/values/value.js';
import { parseVersion, pipelineVersionText } from '../pipelines/version.js';
import { databaseOfQuery } from '../protocols/common/database.js';
import { stringifyJson, type JsonObject, type JsonValue } from '../protocols/common/json.js';
import { readParameters } from '../protocols/common/pipeline/parameters.js';
import type { QueryDeps } from '../query/query-route.js';
import { allSqlRows } from '../query/sql-rows.js';
import type { RequestContext } from '../request-context.js';
import { envelopeOf, openPipelines, warningsOf } from './dry-run.js';
import { runTrial, trialTables } from './trial.js';

const ROWS_DEFAULT = 100;
const ROWS_MAX = 1_000;
/** Rows and failures that the reply shows. */
const SHOWN_MAX = 10;
/** Columns that are texts of logs, in the order of preference. */
const TEXT_COLUMNS = ['message', 'line', 'body', 'Body', 'loki_line', 'event'];

/** Dependencies of a dry run over stored rows. */
export interface StoredRunDeps {
  readonly querier: QueryDeps['querier'];
  readonly catalog: Catalog;
  readonly pipelines: PipelineLibrary;
  readonly nowNs: () => bigint;
}

/** A dry run over the texts that a table stores (spec: pipelines 20.2). */
export interface StoredRun {
  readonly text: string | undefined;
  readonly name: PipelineName | undefined;
  readonly database: string;
  readonly table: string;
  /** Undefined for the first column that has the text of logs. */
  readonly column: string | undefined;
  /** Undefined for rows of any age. */
  readonly lastNs: bigint | undefined;
  readonly rowsMax: number;
}

/** Reads a dry run over stored rows; undefined if the request is another one. @throws `invalid_arguments`. */
export function storedRunOf(context: RequestContext, body: Buffer | undefined): StoredRun | undefined {
  const envelope = envelopeOf(body ?? Buffer.alloc(0), 'against');
  if (envelope === undefined) return undefined;
  const member = (name: string): string | undefined => {
    const value = envelope.get(name) ?? undefined;
    return value === undefined ? undefined : printValue(value);
  };
  const [name, version, last] = [member('pipeline_name'), member('pipeline_version'), member('last')];
  return {
    text: member('pipeline'),
    name: name === undefined ? undefined : { name, version: version === undefined ? undefined : parseVersion(version) },
    database: databaseOfQuery(context, member('db') ?? context.query.get('db') ?? undefined),
    table: member('against') ?? '',
    column: member('column'),
    lastNs: last === undefined ? undefined : parseDurationNs(last),
    rowsMax: limitOf(member('limit')),
  };
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return ROWS_DEFAULT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= ROWS_MAX) return limit;
  throw invalid(`limit must be 1 to ${ROWS_MAX}`);
}

/** Runs the pipeline over the newest rows and reports how many pass. @throws `invalid_arguments`. */
export async function runOverStored(run: StoredRun, deps: StoredRunDeps, call: Call): Promise<JsonValue> {
  const parameters = { ...readParameters(() => undefined), onError: 'skip' as const };
  const { pipelines } = deps;
  const set = await openPipelines(run.text, run.name, parameters, pipelines, call);
  const column = await columnOf(run, deps.catalog, call);
  const texts = await storedTexts(run, column, deps, call);
  const observer = new FailureCount(texts);
  const decoder = runTrial({
    pipelines: set,
    parameters,
    type: 'application/x-ndjson',
    data: Buffer.from(texts.map((text) => stringifyJson({ [column.name]: text })).join('\n')),
    nowNs: deps.nowNs(),
    observer,
  });
  const { itemCount } = decoder.sink.run;
  return {
    items: itemCount,
    failed: observer.count,
    dropped: observer.dropped,
    failures: observer.shown,
    tables: trialTables(decoder).map(shortened),
    ...warningsOf(set),
  };
}

interface TextColumn {
  readonly name: string;
  readonly timeIndex: string;
}

async function columnOf({ database, table, column }: StoredRun, catalog: Catalog, call: Call): Promise<TextColumn> {
  const found = (await catalog.tables(database, call)).find(({ name }) => name === table);
  if (found === undefined) throw new AlmanacError('table_not_found', `Table not found: ${table.slice(0, 255)}`);
  const texts = found.columns.filter(({ kind, type }) => kind !== 'time' && type === 'String').map(({ name }) => name);
  const name = column ?? TEXT_COLUMNS.find((it) => texts.includes(it));
  if (texts.length === 0) throw invalid(`table "${table}" has no column of text, so a dry run has nothing to read`);
  if (name === undefined || !texts.includes(name)) {
    throw invalid(`column must be one of the text columns of "${table}": ${texts.slice(0, 20).join(', ')}`);
  }
  const timeIndex = found.columns.find(({ kind }) => kind === 'time')?.name ?? '';
  return { name, timeIndex };
}

async function storedTexts(
  { database, table, lastNs, rowsMax }: StoredRun,
  { name, timeIndex }: TextColumn,
  { querier, nowNs }: StoredRunDeps,
  call: Call,
): Promise<string[]> {
  const since =
    lastNs === undefined ? '' : ` AND ${quoted(timeIndex)} >= TIMESTAMP_NS '${pipelineVersionText(nowNs() - lastNs)}'`;
  const sql =
    `SELECT ${quoted(name)} FROM ${quoted(table)} WHERE ${quoted(name)} IS NOT NULL${since} ` +
    `ORDER BY ${quoted(timeIndex)} DESC LIMIT ${rowsMax}`;
  const rows = await allSqlRows(querier, { sql, database }, call);
  return rows.map(([text]) => (typeof text === 'string' ? text : ''));
}

/** Counts the items that fail, and keeps the first. */
class FailureCount implements StepObserver {
  count = 0;
  dropped = 0;
  readonly shown: JsonObject[] = [];
  readonly #texts: readonly string[];
  #item = 0;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  beforeStep(): void {
    return undefined;
  }

  afterStep(_place: string, _pipeline: string, _item: unknown, result: unknown): void {
    if (result === DROPPED) this.dropped++;
  }

  failed(step: string, error: string): void {
    this.count++;
    if (this.shown.length < SHOWN_MAX) this.shown.push({ item: this.#texts[this.#item], step, error });
  }

  ended(): void {
    this.#item++;
  }
}

/** Returns a table with its first rows, and the number of all. */
function shortened(table: JsonValue): JsonValue {
  const object = table as { readonly rows: readonly JsonValue[] } & JsonObject;
  return { ...object, row_count: object.rows.length, rows: object.rows.slice(0, SHOWN_MAX) };
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `Invalid request parameter: ${text}`);
}
