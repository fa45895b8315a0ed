import { requireAccess } from '#shared/contracts/rights';
import type { Table } from '#shared/contracts/gen/common';
import type { FlowPosition, FlowSpec } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import { isAppendOnly } from '#shared/schema/table-schema';

import { checkTqlFlow, flowInputs, planFlow, type FlowPlan } from '../../flow/plan.js';
import { flowQuery, hasTql } from '../../flow/query.js';
import { createSink } from '../../flow/create-sink.js';
import { rightsOfFlow } from '../../flow/rights.js';
import { sinkLayout } from '../../flow/sink.js';
import { withCatalogName } from '../../flow/text.js';
import { parseInterval } from '../../functions/interval.js';
import { atAllOwners } from '../../run/owners.js';
import { command, type StatementContext, type StatementKind } from '../../statement.js';
import type { Cursor } from '../../syntax/cursor.js';
import { type ObjectName } from '../../syntax/cursor.js';
import { Kind, type Tokens } from '../../syntax/lex.js';
import { sourceOf } from '../../../snapshot/logical-table.js';

/** `CREATE [OR REPLACE] FLOW [IF NOT EXISTS] f SINK TO t [EXPIRE AFTER ..] [EVAL INTERVAL ..] [COMMENT ..] [WITH (..)] AS query`. */
export const createFlowStatement: StatementKind = {
  name: 'CREATE FLOW',

  matches: (cursor) => cursor.sees('CREATE', 'FLOW') || cursor.sees('CREATE', 'OR', 'REPLACE', 'FLOW'),

  parse(cursor) {
    cursor.expect('CREATE');
    const orReplace = cursor.accept('OR', 'REPLACE');
    cursor.expect('FLOW');
    const ifNotExists = cursor.accept('IF', 'NOT', 'EXISTS');
    if (orReplace && ifNotExists) {
      const text = 'Unsupported operation Create flow with both `IF NOT EXISTS` and `OR REPLACE`';
      throw new AlmanacError('unsupported', text);
    }
    const definition = parseDefinition(cursor);
    return command((context) => createFlow({ ...definition, orReplace, ifNotExists }, context));
  },
};

interface Interval {
  readonly ms: number;
  /** As written. */
  readonly text: string;
}

interface FlowDefinition {
  readonly name: string;
  readonly sink: ObjectName;
  readonly expireAfter: Interval;
  readonly evalInterval: Interval;
  readonly comment: string;
  readonly options: Record<string, string>;
  readonly query: string;
}

interface FlowRequest extends FlowDefinition {
  readonly orReplace: boolean;
  readonly ifNotExists: boolean;
}

const NO_INTERVAL: Interval = { ms: 0, text: '' };
const DEFER = 'defer_on_missing_source';
const OPTIONS = [DEFER, 'experimental_enable_incremental_read'];
/** Longest interval: the longest duration of the configuration's `expire` would be the same. */
const INTERVAL_MS_MAX = 1000 * 366 * 86_400_000;

function parseDefinition(cursor: Cursor): FlowDefinition {
  const { name } = parseName(cursor, 'flow name');
  cursor.expect('SINK', 'TO');
  const sink = parseName(cursor, 'table name');
  const expireAfter = cursor.accept('EXPIRE', 'AFTER') ? parseLength(cursor, 'EXPIRE AFTER') : NO_INTERVAL;
  const evalInterval = cursor.accept('EVAL', 'INTERVAL') ? parseLength(cursor, 'EVAL INTERVAL') : NO_INTERVAL;
  const comment = cursor.accept('COMMENT') ? cursor.text('comment') : '';
  const options = cursor.accept('WITH') ? parseFlowOptions(cursor) : {};
  cursor.expect('AS');
  if (cursor.done) throw cursor.unexpected('query');
  const { tokens, at, to } = cursor;
  const query = tokens.source.slice(tokens.start(at), tokens.end(to - 1));
  if (!['SELECT', 'WITH', 'TQL'].some((word) => cursor.sees(word)) && !cursor.seesSymbol('(')) {
    throw cursor.unexpected('SELECT, WITH or TQL');
  }
  checkTqlFlow(query, evalInterval.ms > 0);
  return { name, sink, expireAfter, evalInterval, comment, options, query };
}

/** Parses a name, which may be a text too. */
function parseName(cursor: Cursor, what: string): ObjectName {
  const isText = !cursor.done && cursor.tokens.kind(cursor.at) === Kind.text;
  return isText ? { catalog: '', schema: '', name: cursor.text(what) } : cursor.objectName(what);
}

/** Parses `'1h'`, `INTERVAL '1 hour'`, `'1h'::INTERVAL`, or a number of seconds. */
function parseLength(cursor: Cursor, clause: string): Interval {
  const { tokens, at } = cursor;
  const isInterval = cursor.accept('INTERVAL');
  const seconds = !isInterval && cursor.seesInteger() ? cursor.integer('interval') : undefined;
  const written = seconds === undefined ? cursor.text('interval') : `${seconds}s`;
  if (cursor.acceptSymbol('::')) cursor.expect('INTERVAL');
  const interval = parseInterval(written);
  if (interval === undefined) throw invalid(`Invalid interval: ${written.slice(0, 60)} in ${clause}`);
  if (interval.months !== 0) throw invalid(`Interval with months is not allowed in ${clause}`);
  const ms = Number(interval.ns / 1_000_000n);
  if (ms < 1 || ms > INTERVAL_MS_MAX) throw invalid(`Invalid interval: ${clause} needs 1ms to 1000 years`);
  return { ms, text: textOf(tokens, at, cursor.at) };
}

function textOf(tokens: Tokens, from: number, to: number): string {
  const words: string[] = [];
  for (let i = from; i < to; i++) {
    words.push(tokens.kind(i) === Kind.word ? tokens.raw(i).toUpperCase() : tokens.raw(i));
  }
  return words.join(' ').replaceAll(' :: ', '::');
}

/** Parses `(k = v, 'k' = 'v', ..)`; an unknown option is refused whatever its value. */
function parseFlowOptions(cursor: Cursor): Record<string, string> {
  const options: Record<string, string> = {};
  cursor.expectSymbol('(');
  while (!cursor.acceptSymbol(')')) {
    const key = wordOrText(cursor, 'option');
    if (!OPTIONS.includes(key)) {
      throw invalid(`unknown flow option '${key.slice(0, 60)}', supported options: ${OPTIONS.join(', ')}`);
    }
    cursor.expectSymbol('=');
    const value = wordOrText(cursor, 'value').toLowerCase();
    if (value !== 'true' && value !== 'false') {
      throw invalid(`invalid value '${value.slice(0, 60)}' of flow option '${key}': use true or false`);
    }
    options[key] = value;
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  return options;
}

function wordOrText(cursor: Cursor, what: string): string {
  const isText = !cursor.done && cursor.tokens.kind(cursor.at) === Kind.text;
  return isText ? cursor.text(what) : cursor.name(what);
}

function invalid(reason: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `Invalid SQL, error: ${reason}`);
}

async function createFlow(request: FlowRequest, context: StatementContext): Promise<number> {
  const { deps, session, call } = context;
  const catalogName = deps.names.systemSource().catalogName;
  const database = deps.names.databaseOf(request.sink.catalog, request.sink.schema, session.database);
  requireAccess(call, 'write', database);
  const known = (await deps.metadata.listFlows({}, call)).flows.find(({ spec }) => spec?.name === request.name)?.spec;
  if (known !== undefined && request.ifNotExists) return 0;
  if (known !== undefined && !request.orReplace) {
    throw new AlmanacError('flow_already_exists', `Flow already exists: ${catalogName}.${request.name}`);
  }
  // Replacing a flow ends it, which needs the same right as dropping it.
  if (known !== undefined) requireAccess(call, 'write', known.sinkDatabase);
  const plan = await planned(request, context);
  const sink = plan === undefined ? undefined : await prepareSink(database, request.sink.name, plan, context);
  const spec = flowSpec(request, database, plan, context);
  const positions = plan?.isStreaming === true ? await presentPositions(plan, context) : [];
  const inputs = plan === undefined ? undefined : flowInputs(plan, sink);
  const { orReplace, ifNotExists } = request;
  const replacedSinkDatabase = known?.sinkDatabase ?? '';
  await withCatalogName(catalogName, () => {
    return deps.metadata.createFlow({ spec, orReplace, ifNotExists, positions, inputs, replacedSinkDatabase }, call);
  });
  deps.flows.wake();
  return 0;
}

/** Returns the definition that is stored. */
function flowSpec(
  request: FlowRequest,
  database: string,
  plan: FlowPlan | undefined,
  { session, call }: StatementContext,
): FlowSpec {
  return {
    name: request.name,
    database: session.database,
    timezone: session.zone.name,
    query: request.query,
    sinkDatabase: database,
    sinkTable: request.sink.name,
    sources: (plan?.sources ?? []).map(({ database: of, name, tableId }) => ({ database: of, name, tableId })),
    isStreaming: plan?.isStreaming ?? false,
    expireAfterMs: request.expireAfter.ms,
    expireAfter: request.expireAfter.text,
    evalIntervalMs: request.evalInterval.ms,
    evalInterval: request.evalInterval.text,
    comment: request.comment,
    options: request.options,
    rights: rightsOfFlow(call.rights, database),
  };
}

/** Returns the plan of a flow; undefined if a source is missing and the flow waits for it. */
async function planned(request: FlowRequest, context: StatementContext): Promise<FlowPlan | undefined> {
  try {
    return await planFlow(request.query, request.evalInterval.ms > 0, context);
  } catch (error) {
    const { code, message } = AlmanacError.from(error);
    // PromQL is evaluated once to determine the columns, and its errors are those of an execution.
    if (code === 'invalid_arguments' && hasTql(flowQuery(request.query))) {
      throw new AlmanacError('execute_query', message, { cause: error });
    }
    if (code !== 'table_not_found' && code !== 'database_not_found') throw error;
    if (request.options[DEFER] === 'true') return undefined;
    const hint = `use WITH (${DEFER} = true) to create a pending flow`;
    const text = `missing source tables for flow '${request.name}'; ${hint}`;
    throw new AlmanacError('invalid_arguments', `Invalid SQL, error: ${text}`, { cause: error });
  }
}

/** Creates the sink of a flow, or checks that an existing one fits. @returns the sink; undefined if it was dropped again. */
async function prepareSink(
  database: string,
  name: string,
  plan: FlowPlan,
  context: StatementContext,
): Promise<Table | undefined> {
  const { deps, call, nowNs } = context;
  const fullName = deps.names.fullName(database, name);
  if (plan.sources.some((source) => source.database === database && source.name === name)) {
    throw new AlmanacError('unsupported', `Unsupported operation: the sink of a flow is its source too: ${fullName}`);
  }
  checkValues(plan);
  const table = await deps.names.find(database, name, call, 'write');
  if (table === undefined) {
    await createSink(database, name, plan, context);
    return deps.names.find(database, name, call, 'write');
  }
  checkSink(table, plan, fullName);
  sinkLayout(table, plan, nowNs);
  return table;
}

/** @throws `execute_query` if a TQL query has several values. */
function checkValues({ isTql, columns, sources }: FlowPlan): void {
  const values = columns.filter(({ type }) => type.name === 'Float64').map(({ name }) => name);
  if (!isTql || values.length <= 1) return;
  const names = sources.map(({ database, name }) => `\`${database}.${name}\``).join(', ');
  const text = `TQL query only supports one f64 value column, table ${names} has ${values.length}: ${values.join(', ')}`;
  throw new AlmanacError('execute_query', `Invalid query: ${text.slice(0, 500)}`);
}

/** @throws `invalid_arguments`, `unsupported` if results cannot be replaced in the table. */
function checkSink(table: Table, plan: FlowPlan, fullName: string): void {
  if (PHYSICAL_METRIC_TABLE in table.options || sourceOf(table) !== undefined) {
    throw new AlmanacError(
      'unsupported',
      `Unsupported operation: ${fullName} is of the metric engine and cannot be a sink`,
    );
  }
  if (!isAppendOnly(table) || plan.isStreaming) return;
  const reason = `the sink table ${fullName} is in append mode, so that results cannot be replaced`;
  throw new AlmanacError('invalid_arguments', `Invalid SQL, error: ${reason}`);
}

/**
 * Returns the last sequences of a streaming flow's source: it only adds later rows. Flushed before, because a segment with
 * rows on both sides could only be read as a whole.
 */
async function presentPositions({ sources }: FlowPlan, context: StatementContext): Promise<FlowPosition[]> {
  const { deps, call } = context;
  const [source] = sources.map((table) => sourceOf(table)?.physical ?? table);
  await atAllOwners(deps, source, call, (owner, regionIds) => {
    return owner.flushTable({ tableId: source.tableId, regionIds }, call);
  });
  const read = { timeFrom: undefined, timeTo: undefined, tagValues: new Map<string, string[]>(), texts: [] };
  const snapshot = await deps.snapshots.take([{ ...read, table: source, columns: new Set<string>() }], call);
  try {
    return Array.from(snapshot.sequences, ([regionId, sequence]) => ({ regionId, sequence }));
  } finally {
    snapshot.release();
  }
}
