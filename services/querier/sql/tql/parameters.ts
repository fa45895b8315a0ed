import type { Cell, IntervalCell, ValueType } from '#shared/duckdb/chunk-reader';
import type { QueryConnection } from '#shared/duckdb/query-connection';
import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType, UNIT_NS } from '#shared/schema/data-type';

import { durationMs } from '../../promql/common/number-text.js';
import { Kind, lexSql } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import { StatementRun, type StatementContext } from '../statement.js';
import { parseTimestampText } from '../syntax/timestamp-text.js';
import { invalidTql } from '../syntax/tql-text.js';

/** Times of an evaluation, in milliseconds. */
export interface TqlTimes {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  /** 0: the configured default. */
  readonly lookbackMs: number;
}

/** Times of a statement without parameters. */
const DEFAULT_TIMES: TqlTimes = { startMs: 0, endMs: 0, stepMs: 300_000, lookbackMs: 0 };
const TIME_MS_MAX = 8.64e15;
/** Longest step and lookback: the longest duration of PromQL. */
const LENGTH_MS_MAX = 9_223_372_036_854;
const DAY_MS = 86_400_000;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** A constant, by its kind. */
type Constant =
  | { readonly kind: 'seconds'; readonly value: number }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'time'; readonly valueMs: number }
  | { readonly kind: 'length'; readonly valueMs: number };

/** Computes the values of a statement's parameters. @throws `invalid_syntax`, `invalid_arguments`, errors of expressions. */
export async function timesOf(
  parameters: readonly QueryText[] | undefined,
  context: StatementContext,
): Promise<TqlTimes> {
  if (parameters === undefined) return DEFAULT_TIMES;
  const [start, end, step, lookback] = parameters as readonly [QueryText, QueryText, QueryText, QueryText | undefined];
  const times = {
    startMs: timeMs('start', await constantOf(start, context), context),
    endMs: timeMs('end', await constantOf(end, context), context),
    stepMs: lengthMs('step', await constantOf(step, context)),
    lookbackMs: lookback === undefined ? 0 : lengthMs('lookback', await constantOf(lookback, context)),
  };
  if (times.endMs < times.startMs) {
    throw new AlmanacError('invalid_arguments', 'end timestamp must not be before start time');
  }
  return times;
}

/** Literals are parsed here, everything else is computed by the engine. */
async function constantOf(expression: QueryText, context: StatementContext): Promise<Constant> {
  const { tokens, from, to } = expression;
  const isSigned = tokens.isSymbol(from, '-') || tokens.isSymbol(from, '+');
  const kind = to - from === (isSigned ? 2 : 1) ? tokens.kind(to - 1) : 0;
  if (kind === Kind.integer || kind === Kind.decimal) {
    return { kind: 'seconds', value: Number(textOf(expression).replaceAll(/[_\s]/g, '')) };
  }
  if (!isSigned && (kind === Kind.text || kind === Kind.escapeText)) {
    return { kind: 'text', value: tokens.textValue(from) };
  }
  return computed(expression, context);
}

async function computed(expression: QueryText, context: StatementContext): Promise<Constant> {
  const { cell, type } = await context.deps.connections.use((connection) => valueOf(expression, context, connection));
  if (cell === null) throw invalidTql(`Failed to evaluate TQL expression: ${shown(expression)} has no value`);
  const constant = constantCell(cell, type);
  if (constant !== undefined) return constant;
  const what = `${shown(expression)} is of type ${type.name}`;
  throw invalidTql(`Failed to evaluate TQL expression: ${what}, expected a time, a number or an interval`);
}

/** Computes an expression in the engine. @throws `invalid_syntax` if it reads a table. */
async function valueOf(
  expression: QueryText,
  context: StatementContext,
  connection: QueryConnection,
): Promise<{ readonly cell: Cell; readonly type: ValueType }> {
  const { deps, session, call } = context;
  const tokens = lexSql(`SELECT (${textOf(expression)})`);
  const constants = { nowNs: context.nowNs, zone: session.zone };
  const names = { database: session.database, given: new Map(), constants };
  const query = { tokens, from: 0, to: tokens.count };
  const { plan, literals, itemNames } = await deps.planner.plan(query, names, connection, call);
  if (plan.tables.length > 0) throw invalidTql(`${shown(expression)} is not a constant`);
  const print = await plan.printed(connection);
  const sql = print(new StatementRun(context, literals), [], itemNames);
  const result = await connection.run(sql, call.signal);
  const [block] = result.blocks();
  return { cell: block.cells(0)[0], type: result.columns[0].type };
}

function constantCell(cell: Cell, { name, kind }: ValueType): Constant | undefined {
  if (kind === 'text') return { kind: 'text', value: cell as string };
  if (kind === 'interval') return lengthOf(cell as IntervalCell);
  if (name === 'Date') return { kind: 'time', valueMs: Number(cell) * DAY_MS };
  if (name.startsWith('Timestamp')) {
    const unitNs = UNIT_NS[dataType(name).timeUnit ?? 'ns'];
    const count = typeof cell === 'bigint' ? cell : BigInt(Number(cell));
    return { kind: 'time', valueMs: Number((count * unitNs) / 1_000_000n) };
  }
  if (typeof cell === 'number' || typeof cell === 'bigint') return { kind: 'seconds', value: Number(cell) };
  return kind === 'decimal' ? { kind: 'seconds', value: Number(cell) } : undefined;
}

/** Months have no fixed length. */
function lengthOf({ months, days, micros }: IntervalCell): Constant | undefined {
  if (months !== 0) return undefined;
  return { kind: 'length', valueMs: days * DAY_MS + Number(micros) / 1000 };
}

/** Converts a constant to a point in time; a length, as in `now() - now()`, counts from 1970. */
function timeMs(name: string, constant: Constant, { session }: StatementContext): number {
  const ms = millisOf(constant, (text) => {
    const ns = parseTimestampText(text, session.zone);
    return ns === undefined ? undefined : Number(ns / 1_000_000n);
  });
  if (ms === undefined) throw invalidTql(`${name} ${shownValue(constant)} is not a time`);
  const rounded = Math.round(ms);
  if (Math.abs(rounded) <= TIME_MS_MAX) return rounded;
  throw new AlmanacError('invalid_arguments', `${name} ${shownValue(constant)} is out of range`);
}

function lengthMs(name: string, constant: Constant): number {
  const ms = constant.kind === 'time' ? undefined : millisOf(constant, durationMs);
  if (ms === undefined) throw invalidTql(`${name} ${shownValue(constant)} is not a duration`);
  const rounded = Math.round(ms);
  if (rounded > 0 && rounded <= LENGTH_MS_MAX) return rounded;
  const text = `${name} must be at least 1ms and at most 292 years, got ${shownValue(constant)}`;
  throw new AlmanacError('invalid_arguments', text);
}

function millisOf(constant: Constant, ofText: (text: string) => number | undefined): number | undefined {
  if (constant.kind === 'seconds') return constant.value * 1000;
  if (constant.kind !== 'text') return constant.valueMs;
  const text = constant.value.trim();
  return NUMBER.test(text) ? Number(text) * 1000 : ofText(text);
}

function textOf({ tokens, from, to }: QueryText): string {
  return tokens.source.slice(tokens.start(from), tokens.end(to - 1));
}

function shown(expression: QueryText): string {
  return textOf(expression).slice(0, 100);
}

function shownValue(constant: Constant): string {
  if (constant.kind === 'text') return JSON.stringify(constant.value.slice(0, 60));
  return constant.kind === 'seconds' ? String(constant.value) : `${constant.valueMs}ms`;
}
