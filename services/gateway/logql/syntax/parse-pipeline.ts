import { byteCount, durationSeconds } from '../units.js';
import type {
  CompareOp,
  Extraction,
  LabelAssignment,
  LabelChoice,
  LabelCondition,
  LogMatcher,
  LineFilterStage,
  LineOp,
  LogQuery,
  MatchOp,
  PipelineStage,
  Unwrap,
} from './ast.js';
import type { TokenCursor } from './cursor.js';

/** A log query, and the `unwrap` at the end of its pipeline. */
export interface ParsedPipeline {
  readonly query: LogQuery;
  readonly unwrap: Unwrap | undefined;
}

/** Stages, matchers and list entries of a query. */
const STAGES_MAX = 100;
const LIST_MAX = 200;

const MATCH_OPS = new Set<string>(['=', '!=', '=~', '!~']);
const LINE_OPS = new Set<string>(['|=', '!=', '|~', '!~', '|>', '!>']);
const COMPARE_OPS: Readonly<Record<string, CompareOp>> = {
  '=': '==',
  '==': '==',
  '!=': '!=',
  '>': '>',
  '>=': '>=',
  '<': '<',
  '<=': '<=',
};

/** Parses `{...}`. */
export function parseStreamSelector(cursor: TokenCursor): LogMatcher[] {
  cursor.expect('{');
  const matchers: LogMatcher[] = [];
  if (cursor.accept('}')) return matchers;
  do {
    if (matchers.length === LIST_MAX) throw cursor.error(`a selector has more than ${LIST_MAX} matchers`);
    if (matchers.length > 0 && cursor.isAt('}')) break;
    matchers.push(parseMatcher(cursor));
  } while (cursor.accept(','));
  cursor.expect('}');
  return matchers;
}

function parseMatcher(cursor: TokenCursor): LogMatcher {
  const name = cursor.token.kind === 'text' ? cursor.take().value : cursor.expectKind('name', 'IDENTIFIER or }');
  if (!MATCH_OPS.has(cursor.token.value) || cursor.token.kind !== 'operator') {
    throw cursor.unexpected('=, !=, =~ or !~');
  }
  const op = cursor.take().value as MatchOp;
  return { name, op, value: cursor.expectKind('text', 'STRING') };
}

/** Parses the stages after a selector; `unwrap` only where the query is aggregated. */
export function parseStages(
  cursor: TokenCursor,
  matchers: readonly LogMatcher[],
  stages: PipelineStage[],
): ParsedPipeline {
  for (;;) {
    if (stages.length > STAGES_MAX) throw cursor.error(`the pipeline has more than ${STAGES_MAX} stages`);
    if (cursor.token.kind === 'operator' && LINE_OPS.has(cursor.token.value)) {
      stages.push(parseLineFilter(cursor));
      continue;
    }
    if (!cursor.accept('|')) return { query: { kind: 'log', matchers, stages }, unwrap: undefined };
    if (cursor.accept('unwrap', 'name')) {
      return { query: { kind: 'log', matchers, stages }, unwrap: parseUnwrap(cursor) };
    }
    stages.push(parseStage(cursor));
  }
}

function parseLineFilter(cursor: TokenCursor): LineFilterStage {
  const op = cursor.take().value as LineOp;
  const texts: string[] = [];
  do {
    if (texts.length === LIST_MAX) throw cursor.error(`a line filter has more than ${LIST_MAX} texts`);
    if (cursor.isAt('ip', 'name')) throw cursor.error('the filter ip() is not supported');
    texts.push(cursor.expectKind('text', 'STRING'));
  } while (cursor.accept('or', 'name'));
  return { kind: 'line_filter', op, texts };
}

const STAGE_PARSERS: Readonly<Record<string, (cursor: TokenCursor) => PipelineStage>> = {
  json: (cursor) => ({ kind: 'json', extractions: extractions(cursor), isStrict: true, keepsEmpty: false }),
  logfmt(cursor) {
    const flags = new Set<string>();
    while (cursor.token.kind === 'option') flags.add(cursor.take().value);
    const unknown = [...flags].find((flag) => flag !== '--strict' && flag !== '--keep-empty');
    if (unknown !== undefined) throw cursor.error(`unknown parser flag ${unknown}: use --strict or --keep-empty`);
    const isStrict = flags.has('--strict');
    return { kind: 'logfmt', extractions: extractions(cursor), isStrict, keepsEmpty: flags.has('--keep-empty') };
  },
  pattern: (cursor) => ({ kind: 'pattern', text: cursor.expectKind('text', 'STRING') }),
  regexp: (cursor) => ({ kind: 'regexp', text: cursor.expectKind('text', 'STRING') }),
  unpack: () => ({ kind: 'unpack' }),
  decolorize: () => ({ kind: 'decolorize' }),
  line_format: (cursor) => ({ kind: 'line_format', template: cursor.expectKind('text', 'STRING') }),
  label_format: (cursor) => ({ kind: 'label_format', assignments: list(cursor, assignment) }),
  drop: (cursor) => ({ kind: 'drop', labels: list(cursor, labelChoice) }),
  keep: (cursor) => ({ kind: 'keep', labels: list(cursor, labelChoice) }),
};

function parseStage(cursor: TokenCursor): PipelineStage {
  const { token, next } = cursor;
  if (token.kind === 'name' && Object.hasOwn(STAGE_PARSERS, token.value) && !isComparison(next.value, next.kind)) {
    cursor.take();
    return STAGE_PARSERS[token.value](cursor);
  }
  return { kind: 'label_filter', condition: parseCondition(cursor) };
}

function isComparison(value: string, kind: string): boolean {
  return kind === 'operator' && value !== '!=' && value !== '!~' && (MATCH_OPS.has(value) || value in COMPARE_OPS);
}

function list<T>(cursor: TokenCursor, parse: (cursor: TokenCursor) => T): T[] {
  const entries: T[] = [];
  do {
    if (entries.length === LIST_MAX) throw cursor.error(`a stage has more than ${LIST_MAX} entries`);
    entries.push(parse(cursor));
  } while (cursor.accept(','));
  return entries;
}

function extractions(cursor: TokenCursor): Extraction[] {
  if (cursor.token.kind !== 'name' || STOP_WORDS.has(cursor.token.value)) return [];
  return list(cursor, (at) => {
    const label = at.expectKind('name', 'IDENTIFIER');
    return { label, path: at.accept('=') ? at.expectKind('text', 'STRING') : label };
  });
}

/** Words that may follow a pipeline. */
const STOP_WORDS = new Set(['offset', 'by', 'without', 'and', 'or', 'unless']);

function assignment(cursor: TokenCursor): LabelAssignment {
  const name = cursor.expectKind('name', 'IDENTIFIER');
  cursor.expect('=');
  if (cursor.token.kind === 'text') return { name, from: { template: cursor.take().value } };
  return { name, from: { label: cursor.expectKind('name', 'IDENTIFIER or STRING') } };
}

function labelChoice(cursor: TokenCursor): LabelChoice {
  const { next } = cursor;
  if (next.kind === 'operator' && MATCH_OPS.has(next.value)) {
    // A line filter may follow a bare name: `| drop a != "x"` is read as a matcher, as in Loki.
    const matcher = parseMatcher(cursor);
    return { name: matcher.name, matcher };
  }
  return { name: cursor.expectKind('name', 'IDENTIFIER'), matcher: undefined };
}

/** Parses conditions: `or` binds less than `and` and the comma. */
function parseCondition(cursor: TokenCursor): LabelCondition {
  let left = parseConjunction(cursor);
  for (let count = 0; cursor.accept('or', 'name'); count++) {
    if (count === LIST_MAX) throw cursor.error(`a label filter has more than ${LIST_MAX} conditions`);
    left = { kind: 'or', left, right: parseConjunction(cursor) };
  }
  return left;
}

function parseConjunction(cursor: TokenCursor): LabelCondition {
  let left = parseComparison(cursor);
  for (let count = 0; isConjunction(cursor); count++) {
    if (count === LIST_MAX) throw cursor.error(`a label filter has more than ${LIST_MAX} conditions`);
    if (!cursor.accept('and', 'name')) cursor.accept(',');
    left = { kind: 'and', left, right: parseComparison(cursor) };
  }
  return left;
}

/** `a="x" b="y"` without a word between them is a conjunction, too. */
function isConjunction(cursor: TokenCursor): boolean {
  const { token, next } = cursor;
  if (cursor.isAt('and', 'name') || cursor.isAt(',')) return true;
  return token.kind === 'name' && token.value !== 'or' && next.kind === 'operator' && next.value in COMPARE_OPS;
}

function parseComparison(cursor: TokenCursor): LabelCondition {
  if (cursor.accept('(')) {
    const inner = cursor.nested(() => parseCondition(cursor));
    cursor.expect(')');
    return inner;
  }
  const name = cursor.expectKind('name', 'IDENTIFIER');
  const { kind, value: op } = cursor.token;
  if (kind !== 'operator' || !(MATCH_OPS.has(op) || op in COMPARE_OPS)) throw cursor.unexpected('a comparison');
  cursor.take();
  if (cursor.token.kind === 'text') {
    if (!MATCH_OPS.has(op)) throw cursor.unexpected('NUMBER, DURATION or BYTES');
    return { kind: 'text', matcher: { name, op: op as MatchOp, value: cursor.take().value } };
  }
  if (cursor.isAt('ip', 'name')) throw cursor.error('the filter ip() is not supported');
  if (!(op in COMPARE_OPS)) throw cursor.unexpected('STRING');
  return { ...operand(cursor), name, op: COMPARE_OPS[op] };
}

function operand(cursor: TokenCursor): { kind: 'number' | 'duration' | 'bytes'; value: number; text: string } {
  const sign = cursor.accept('-') ? '-' : '';
  const { kind, value: text } = cursor.token;
  if (kind !== 'number' && kind !== 'duration' && kind !== 'bytes') {
    throw cursor.unexpected('STRING, NUMBER, DURATION or BYTES');
  }
  cursor.take();
  const value = kind === 'number' ? Number(text) : kind === 'duration' ? durationSeconds(text) : byteCount(text);
  return { kind, value: (sign === '-' ? -1 : 1) * (value ?? NaN), text: sign + text };
}

const CONVERSIONS = new Set<string>(['duration', 'duration_seconds', 'bytes']);

function parseUnwrap(cursor: TokenCursor): Unwrap {
  let label = cursor.expectKind('name', 'IDENTIFIER');
  let conversion: Unwrap['conversion'] = '';
  if (CONVERSIONS.has(label) && cursor.accept('(')) {
    conversion = label as Unwrap['conversion'];
    label = cursor.expectKind('name', 'IDENTIFIER');
    cursor.expect(')');
  }
  const filters: Unwrap['filters'][number][] = [];
  while (cursor.accept('|')) {
    if (filters.length === STAGES_MAX) throw cursor.error(`the pipeline has more than ${STAGES_MAX} stages`);
    filters.push({ kind: 'label_filter', condition: parseCondition(cursor) });
  }
  return { label, conversion, filters };
}
