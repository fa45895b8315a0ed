import { goFloat } from '../units.js';
import type {
  BinaryOperation,
  Grouping,
  LogMatcher,
  LogqlQuery,
  LogQuery,
  MetricQuery,
  RangeAggregation,
  Unwrap,
  SideMatching,
} from './ast.js';
import { TokenCursor } from './cursor.js';
import { checkRangeAggregation, RANGE_FUNCTIONS, VECTOR_FUNCTIONS } from './functions.js';
import { parseStreamSelector, parseStages } from './parse-pipeline.js';

/** Parses a query and checks what can be checked without data. @throws `invalid_syntax`. */
export function parseLogql(text: string): LogqlQuery {
  const cursor = new TokenCursor(text);
  const query = parseBinary(cursor, 0);
  if (cursor.token.kind !== 'end') throw cursor.unexpected();
  return query;
}

/** Parses a query for lines. @throws `invalid_syntax` for a query for numbers. */
export function parseLogQuery(text: string): LogQuery {
  const cursor = new TokenCursor(text);
  const query = parseBinary(cursor, 0);
  if (cursor.token.kind !== 'end') throw cursor.unexpected();
  if (query.kind !== 'log') throw cursor.error('only log selector is supported');
  return query;
}

/** Parses a selector without a pipeline, `{app="x"}`. @throws `invalid_syntax`. */
export function parseLabelMatchers(text: string): readonly LogMatcher[] {
  const cursor = new TokenCursor(text);
  const matchers = parseStreamSelector(cursor);
  if (cursor.token.kind !== 'end') throw cursor.unexpected();
  return matchers;
}

const LEVELS: readonly (readonly string[])[] = [
  ['or'],
  ['and', 'unless'],
  ['==', '!=', '>', '>=', '<', '<='],
  ['+', '-'],
  ['*', '/', '%'],
  ['^'],
];
const SET_OPS = new Set(['or', 'and', 'unless']);
const OPERATIONS_MAX = 200;

function parseBinary(cursor: TokenCursor, level: number): LogqlQuery {
  if (level === LEVELS.length) return parsePrimary(cursor);
  let left = parseBinary(cursor, level + 1);
  for (let count = 0; ; count++) {
    const op = cursor.token.value;
    const kind = SET_OPS.has(op) ? 'name' : 'operator';
    if (!LEVELS[level].includes(op) || cursor.token.kind !== kind) return left;
    if (count === OPERATIONS_MAX) throw cursor.error(`the query has more than ${OPERATIONS_MAX} operations in a row`);
    if (left.kind === 'log') throw cursor.error(`unexpected type for left leg of binary operation (${op}): log query`);
    cursor.take();
    const operation = modifiers(cursor, op);
    // Only the power is right-associative.
    const right = cursor.nested(() => parseBinary(cursor, op === '^' ? level : level + 1));
    if (right.kind === 'log') {
      throw cursor.error(`unexpected type for right leg of binary operation (${op}): log query`);
    }
    left = { ...operation, left, right };
  }
}

function modifiers(cursor: TokenCursor, op: string): Omit<BinaryOperation, 'left' | 'right'> {
  const returnsBool = cursor.accept('bool', 'name');
  if (returnsBool && !LEVELS[2].includes(op)) {
    throw cursor.error('bool modifier can only be used on comparison operators');
  }
  return { kind: 'binary', op, returnsBool, matching: matching(cursor) };
}

function matching(cursor: TokenCursor): SideMatching | undefined {
  const isOn = cursor.isAt('on', 'name');
  if (!isOn && !cursor.isAt('ignoring', 'name')) return undefined;
  cursor.take();
  const labels = names(cursor);
  let group: SideMatching['group'];
  let include: string[] = [];
  if (cursor.accept('group_left', 'name')) group = 'left';
  else if (cursor.accept('group_right', 'name')) group = 'right';
  // Parentheses after the word can also begin the right side: only a list of names belongs to it.
  if (group !== undefined && cursor.isAt('(') && (cursor.next.kind === 'name' || cursor.next.value === ')')) {
    include = names(cursor);
  }
  return { isOn, labels, group, include };
}

function parsePrimary(cursor: TokenCursor): LogqlQuery {
  const { token } = cursor;
  if (token.kind === 'number') return { kind: 'number', value: numberValue(cursor) };
  if (cursor.isAt('-') || cursor.isAt('+')) {
    const sign = cursor.take().value === '-' ? -1 : 1;
    return { kind: 'number', value: sign * numberValue(cursor) };
  }
  if (cursor.isAt('{')) return logQuery(cursor);
  if (cursor.accept('(')) {
    const inner = cursor.nested(() => parseBinary(cursor, 0));
    cursor.expect(')');
    if (inner.kind !== 'log') return inner;
    const { query, unwrap } = parseStages(cursor, inner.matchers, [...inner.stages]);
    if (unwrap !== undefined) throw cursor.error('unwrap is only allowed in a range aggregation');
    return query;
  }
  if (token.kind !== 'name') throw cursor.unexpected();
  return cursor.nested(() => parseCall(cursor));
}

function logQuery(cursor: TokenCursor): LogQuery {
  const { query, unwrap } = parseStages(cursor, parseStreamSelector(cursor), []);
  if (unwrap !== undefined) throw cursor.error('unwrap is only allowed in a range aggregation');
  return query;
}

function parseCall(cursor: TokenCursor): MetricQuery {
  const name = cursor.token.value;
  if (RANGE_FUNCTIONS.has(name)) return rangeAggregation(cursor);
  if (VECTOR_FUNCTIONS.has(name)) return vectorAggregation(cursor);
  if (name === 'label_replace') return labelReplacement(cursor);
  if (name !== 'vector') throw cursor.unexpected();
  cursor.take();
  cursor.expect('(');
  const sign = cursor.accept('-') ? -1 : 1;
  const value = sign * numberValue(cursor);
  cursor.expect(')');
  return { kind: 'vector', value };
}

function rangeAggregation(cursor: TokenCursor): MetricQuery {
  const fn = cursor.take().value;
  cursor.expect('(');
  let parameter: number | undefined;
  if (!cursor.isAt('{') && !cursor.isAt('(')) {
    const sign = cursor.accept('-') ? -1 : 1;
    parameter = sign * numberValue(cursor);
    cursor.expect(',');
  }
  const range = logRange(cursor);
  cursor.expect(')');
  const aggregation: RangeAggregation = {
    kind: 'range_aggregation',
    fn,
    parameter,
    ...range,
    grouping: grouping(cursor),
  };
  checkRangeAggregation(aggregation, cursor);
  return aggregation;
}

type LogRange = Pick<RangeAggregation, 'query' | 'unwrap' | 'rangeNs' | 'offsetNs'>;

function logRange(cursor: TokenCursor): LogRange {
  if (cursor.accept('(')) {
    const inner = cursor.nested(() => logRangeParts(cursor));
    cursor.expect(')');
    return withDuration(cursor, inner, inner.duration ?? duration(cursor));
  }
  const parts = logRangeParts(cursor);
  return withDuration(cursor, parts, parts.duration);
}

interface RangeParts {
  readonly query: LogQuery;
  readonly unwrap: Unwrap | undefined;
  readonly duration: Pick<RangeAggregation, 'rangeNs' | 'offsetNs'> | undefined;
}

/** Parses a pipeline with the range at its end or after its selector. */
function logRangeParts(cursor: TokenCursor): RangeParts {
  if (cursor.isAt('(')) {
    cursor.take();
    const inner = cursor.nested(() => logRangeParts(cursor));
    cursor.expect(')');
    return inner.duration === undefined ? { ...inner, duration: duration(cursor) } : inner;
  }
  const matchers = parseStreamSelector(cursor);
  const early = duration(cursor);
  const { query, unwrap } = parseStages(cursor, matchers, []);
  return { query, unwrap, duration: early ?? duration(cursor) };
}

function withDuration(cursor: TokenCursor, { query, unwrap }: RangeParts, it: RangeParts['duration']): LogRange {
  if (it === undefined) throw cursor.unexpected('RANGE');
  return { query, unwrap, ...it };
}

/** Parses `[5m] offset 1h`. */
function duration(cursor: TokenCursor): RangeParts['duration'] {
  if (!cursor.accept('[')) return undefined;
  const rangeNs = nanoseconds(cursor);
  if (rangeNs <= 0n) throw cursor.error('the range must be longer than 0');
  cursor.expect(']');
  let offsetNs = 0n;
  if (cursor.accept('offset', 'name')) {
    const sign = cursor.accept('-') ? -1n : 1n;
    offsetNs = sign * nanoseconds(cursor);
  }
  return { rangeNs, offsetNs };
}

const UNIT_NS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
  w: 7n * 86_400_000_000_000n,
  y: 365n * 86_400_000_000_000n,
};
const DURATION_NS_MAX = 2n ** 63n - 1n;

function nanoseconds(cursor: TokenCursor): bigint {
  const text = cursor.token.value;
  if (cursor.token.kind !== 'duration') throw cursor.unexpected('DURATION');
  let total = 0n;
  for (const [, whole, fraction = '', unit] of text.matchAll(
    /(\d{1,18})(?:\.(\d{1,9})\d*)?(ns|us|µs|ms|s|m|h|d|w|y)/g,
  )) {
    const scaled = BigInt(whole + fraction.padEnd(9, '0')) * UNIT_NS[unit];
    total += scaled / 1_000_000_000n;
  }
  if (total > DURATION_NS_MAX) throw cursor.error('not a valid duration string: it is longer than 292 years');
  cursor.take();
  return total;
}

function vectorAggregation(cursor: TokenCursor): MetricQuery {
  const fn = cursor.take().value;
  const before = grouping(cursor);
  cursor.expect('(');
  const needs = VECTOR_FUNCTIONS.get(fn)!;
  let parameter: number | undefined;
  if (cursor.token.kind === 'number' && cursor.next.value === ',') {
    parameter = numberValue(cursor);
    cursor.expect(',');
  }
  if (needs && parameter === undefined) throw cursor.error(`parameter required for operation ${fn}`);
  if (!needs && parameter !== undefined) throw cursor.error(`unsupported parameter for operation ${fn}(${parameter},`);
  if (needs && (parameter! < 1 || !Number.isInteger(parameter))) {
    throw cursor.error(`invalid parameter (must be greater than 0) ${fn}(${parameter}`);
  }
  const inner = parseBinary(cursor, 0);
  if (inner.kind === 'log') throw cursor.unexpected('a range aggregation');
  cursor.expect(')');
  const group = before ?? grouping(cursor);
  if (fn.startsWith('sort') && group !== undefined) throw cursor.error(`grouping not allowed for ${fn} aggregation`);
  return { kind: 'vector_aggregation', fn, parameter, grouping: group, inner };
}

function labelReplacement(cursor: TokenCursor): MetricQuery {
  cursor.take();
  cursor.expect('(');
  const inner = parseBinary(cursor, 0);
  if (inner.kind === 'log') throw cursor.unexpected('a range aggregation');
  const [target, replacement, source, pattern] = [1, 2, 3, 4].map(() => {
    cursor.expect(',');
    return cursor.expectKind('text', 'STRING');
  });
  cursor.expect(')');
  return { kind: 'label_replace', inner, target, replacement, source, pattern };
}

function grouping(cursor: TokenCursor): Grouping | undefined {
  const isWithout = cursor.isAt('without', 'name');
  if (!isWithout && !cursor.isAt('by', 'name')) return undefined;
  cursor.take();
  return { isWithout, labels: names(cursor) };
}

const NAMES_MAX = 200;

function names(cursor: TokenCursor): string[] {
  cursor.expect('(');
  const found: string[] = [];
  if (cursor.accept(')')) return found;
  do {
    if (found.length === NAMES_MAX) throw cursor.error(`a list has more than ${NAMES_MAX} labels`);
    found.push(cursor.expectKind('name', 'IDENTIFIER'));
  } while (cursor.accept(','));
  cursor.expect(')');
  return found;
}

function numberValue(cursor: TokenCursor): number {
  const text = cursor.expectKind('number', 'NUMBER');
  return text.startsWith('0x') ? Number(text) : (goFloat(text) ?? Number(text));
}
