import { quoteName, quoteText } from '#shared/duckdb/quote';

import { textTest } from '../stages/label-condition.js';
import { ERROR_DETAILS_LABEL, ERROR_LABEL } from '../line/row-labels.js';
import type { LabelCondition, LogMatcher, LineFilterStage, LogQuery, PipelineStage } from '../syntax/ast.js';
import { labelSql, timeSql, type LogTable } from './log-table.js';

/** A log query, split into what the engine filters and the stages that remain. */
export interface PushedQuery {
  /** Conditions as SQL, all of which hold. */
  readonly conditions: readonly string[];
  readonly stages: readonly PipelineStage[];
}

/** Splits a query: filters move to SQL as long as no earlier stage changes what they see. */
export function pushDown({ matchers, stages }: LogQuery, table: LogTable): PushedQuery {
  const conditions = matchers.map((matcher) => streamSql(matcher, table));
  const rest: PipelineStage[] = [];
  let isLineAsStored = true;
  let isParsedOnly = true;
  for (const stage of stages) {
    const sql = rest.length === 0 ? stageSql(stage, table) : isLineAsStored ? lineSql(stage, table) : undefined;
    if (sql === undefined) rest.push(stage);
    else if (sql !== '') conditions.push(sql);
    if (isParsedOnly && sql === undefined && stage.kind === 'label_filter') {
      conditions.push(...hintsOf(stage.condition, table));
    }
    isParsedOnly &&= PARSERS.has(stage.kind);
    if (stage.kind === 'line_format' || stage.kind === 'decolorize' || stage.kind === 'unpack') isLineAsStored = false;
  }
  return { conditions, stages: rest };
}

/** Stages whose labels have values that are texts of the line. */
const PARSERS = new Set<PipelineStage['kind']>(['json', 'logfmt', 'pattern', 'regexp', 'line_filter', 'label_filter']);
/** Values that lines have as they are, unless they have escapes of characters. */
const PLAIN_VALUE = /^[A-Za-z0-9_.:-]+$/;

/**
 * Returns conditions that all lines have which a label filter after a parser lets pass. The filter itself remains.
 * `level="error"` needs a line with the text `error`, or with a backslash, or a label that no parser has found.
 */
function hintsOf(condition: LabelCondition, table: LogTable): string[] {
  if (condition.kind === 'and') return [...hintsOf(condition.left, table), ...hintsOf(condition.right, table)];
  if (condition.kind !== 'text') return [];
  const { name, op, value } = condition.matcher;
  const stored = labelSql(table, name);
  if (op !== '=' || !PLAIN_VALUE.test(value) || name.startsWith('__') || stored === undefined) return [];
  const other = stored === "''" ? '' : ` OR ${stored} = ${quoteText(value)}`;
  return [`(contains(${table.line}, ${quoteText(value)}) OR contains(${table.line}, '\\')${other})`];
}

/** Returns the condition that a time is in `[fromNs, toNs)`. */
export function inRangeSql(table: LogTable, fromNs: bigint, toNs: bigint): string {
  const column = quoteName(table.timeColumn);
  return `${column} >= ${timeSql(fromNs)} AND ${column} < ${timeSql(toNs)}`;
}

/** A matcher of a selector: on tags, and on columns that hold one value. */
export function streamSql(matcher: LogMatcher, table: LogTable): string {
  const columns = [...table.tags, ...table.metadata.filter(({ isJson }) => !isJson)];
  const column = columns.find(({ label }) => label === matcher.name);
  if (column === undefined) return textTest(matcher)('') ? 'TRUE' : 'FALSE';
  const quoted = quoteName(column.column);
  const isTag = table.tags.some(({ label }) => label === matcher.name);
  const value = isTag ? quoted : `CAST(${quoted} AS VARCHAR)`;
  // Series are found by the value of a tag, which the planner sees only in this form.
  if (matcher.op === '=' && matcher.value !== '') return `${value} = ${quoteText(matcher.value)}`;
  return matcherSql(matcher, `coalesce(${value}, '')`);
}

function matcherSql(matcher: LogMatcher, value: string): string {
  const { op } = matcher;
  const text = quoteText(matcher.value);
  if (op === '=') return `${value} = ${text}`;
  if (op === '!=') return `${value} <> ${text}`;
  // Compiled for its errors: the engine has the same syntax, but other words.
  textTest(matcher);
  return `${op === '!~' ? 'NOT ' : ''}regexp_full_match(${value}, ${text}, 's')`;
}

/** Returns the condition of a stage; empty if it changes nothing, undefined if it is more than a filter. */
function stageSql(stage: PipelineStage, table: LogTable): string | undefined {
  if (stage.kind === 'label_filter') return conditionSql(stage.condition, table);
  if (stage.kind === 'drop') {
    const dropsErrors = stage.labels.every(({ name }) => name === ERROR_LABEL || name === ERROR_DETAILS_LABEL);
    return dropsErrors ? '' : undefined;
  }
  return lineSql(stage, table);
}

function conditionSql(condition: LabelCondition, table: LogTable): string | undefined {
  if (condition.kind === 'and' || condition.kind === 'or') {
    const left = conditionSql(condition.left, table);
    const right = conditionSql(condition.right, table);
    if (left === undefined || right === undefined) return undefined;
    return `(${left} ${condition.kind.toUpperCase()} ${right})`;
  }
  if (condition.kind !== 'text') return undefined;
  const { matcher } = condition;
  // Before the first parser no line has an error.
  if (matcher.name === ERROR_LABEL || matcher.name === ERROR_DETAILS_LABEL) {
    return textTest(matcher)('') ? 'TRUE' : 'FALSE';
  }
  const value = labelSql(table, matcher.name);
  return value === undefined ? undefined : matcherSql(matcher, value);
}

function lineSql(stage: PipelineStage, table: LogTable): string | undefined {
  if (stage.kind !== 'line_filter' || stage.op === '|>' || stage.op === '!>') return undefined;
  return lineFilterSql(stage, table.line);
}

function lineFilterSql({ op, texts }: LineFilterStage, line: string): string {
  const isRegex = op === '|~' || op === '!~';
  const tests = texts.map((text) => `${isRegex ? 'regexp_matches' : 'contains'}(${line}, ${quoteText(text)})`);
  const any = tests.length === 1 ? tests[0] : `(${tests.join(' OR ')})`;
  return op.startsWith('!') ? `NOT coalesce(${any}, FALSE)` : any;
}
