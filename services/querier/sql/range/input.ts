import type { Column } from '#shared/contracts/gen/common';
import { dataType } from '#shared/schema/data-type';

import { Kind } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import { isWildcard } from './range-select.js';
import {
  afterGroup,
  columnPath,
  endsOperand,
  findOutside,
  isName,
  splitAtCommas,
  spanText,
  unplannedRange,
} from './spans.js';

/** A column of the input. */
export interface InputColumn {
  readonly name: string;
  /** Type as in the catalog; undefined if it is not known. */
  readonly type: string | undefined;
  readonly isTimeIndex: boolean;
}

/** What a range query knows of its FROM clause. */
export interface RangeInput {
  readonly sql: string;
  /** Qualifier of its columns; empty if there is none. */
  readonly alias: string;
  readonly columns: readonly InputColumn[];
  readonly timeIndex: InputColumn;
  /** Primary key of the only table; undefined for subqueries and joins. */
  readonly primaryKey: readonly string[] | undefined;
}

/** A table or a view. */
interface RangeTable {
  readonly columns: readonly Column[];
  /** Undefined for a view. */
  readonly primaryKey: readonly string[] | undefined;
}

/** Finds a table or a view by the parts of its name. @throws `table_not_found`. */
export type FindTable = (schema: string, name: string) => Promise<RangeTable>;

interface Source {
  readonly alias: string;
  readonly columns: readonly InputColumn[];
  readonly primaryKey: readonly string[] | undefined;
  readonly to: number;
}

const TIMESTAMP_UNITS: Readonly<Partial<Record<string, string>>> = {
  0: 'TimestampSecond',
  3: 'TimestampMillisecond',
  6: 'TimestampMicrosecond',
  9: 'TimestampNanosecond',
};
/** A cast, which is how a range query prints its time index. */
const TIMESTAMP = /(?:^(?:TRY_)?CAST\s*\(.*\bAS|::)\s*TIMESTAMP(?:\s*\((\d)\))?\s*\)?$/is;
const TIME_FUNCTION = /^(?:date_bin|date_trunc|to_timestamp\w*|now)\s*\(/i;

/** Finds the time index and the primary key of the input of a range query. @throws `table_not_found`, `plan_query`. */
export async function readInput(input: QueryText, find: FindTable): Promise<RangeInput> {
  const source = await new InputReader(find).source(input);
  const timeIndex =
    source.columns.find(({ isTimeIndex }) => isTimeIndex) ??
    source.columns.find(({ type }) => type !== undefined && dataType(type).timeUnit !== undefined);
  if (timeIndex === undefined) throw unplannedRange('Range Query: the input has no time index');
  const isSingle = source.to === input.to;
  const { alias, columns } = source;
  return { sql: spanText(input), alias, columns, timeIndex, primaryKey: isSingle ? source.primaryKey : undefined };
}

class InputReader {
  readonly #find: FindTable;
  /** Common table expressions that are being read: they can refer to themselves. */
  readonly #open = new Set<string>();

  constructor(find: FindTable) {
    this.#find = find;
  }

  /** Reads the first table or subquery of a FROM clause. */
  async source(input: QueryText): Promise<Source> {
    const { tokens, from, to } = input;
    if (tokens.isSymbol(from, '(')) {
      const end = afterGroup(tokens, from, to);
      const columns = await this.#outputs({ tokens, from: from + 1, to: end - 1 });
      return { ...aliasAt({ tokens, from: end, to }, ''), columns, primaryKey: undefined };
    }
    let end = from + 1;
    while (end + 1 < to && tokens.isSymbol(end, '.')) end += 2;
    const path = columnPath({ tokens, from, to: end }) ?? [];
    const name = path.at(-1) ?? '';
    const body = path.length === 1 ? commonTable(input, name) : undefined;
    const named = aliasAt({ tokens, from: end, to }, name);
    if (body !== undefined && !this.#open.has(name)) {
      this.#open.add(name);
      const columns = await this.#outputs(body);
      this.#open.delete(name);
      return { ...named, columns, primaryKey: undefined };
    }
    const table = await this.#find(path.at(-2) ?? '', name);
    const columns = table.columns.map(({ name: column, type, kind }) => {
      return { name: column, type, isTimeIndex: kind === 'time' };
    });
    return { ...named, columns, primaryKey: table.primaryKey };
  }

  /** Returns the columns of a subquery as far as their types are known. */
  async #outputs(query: QueryText): Promise<InputColumn[]> {
    const { tokens, to } = query;
    if (tokens.isSymbol(query.from, '(')) {
      return this.#outputs({ tokens, from: query.from + 1, to: afterGroup(tokens, query.from, to) - 1 });
    }
    const select = findOutside(query, (i) => tokens.isWord(i, 'SELECT'));
    const from = findOutside({ tokens, from: select + 1, to }, (i) => tokens.isWord(i, 'FROM'));
    if (from >= to) return [];
    const { columns } = await this.source({ tokens, from: from + 1, to });
    const items = splitAtCommas({ tokens, from: select + 1, to: from });
    return items.flatMap((item) => (isWildcard(item) ? columns : [output(item, columns)]));
  }
}

function output(item: QueryText, columns: readonly InputColumn[]): InputColumn {
  const { tokens, from, to } = item;
  const isNamed = to - from > 1 && isName(tokens, to - 1) && !tokens.isSymbol(to - 2, '.');
  const hasAs = isNamed && tokens.isWord(to - 2, 'AS');
  const value = { ...item, to: hasAs ? to - 2 : isNamed && endsOperand(tokens, to - 2) ? to - 1 : to };
  const path = columnPath(value);
  const name = value.to < to ? tokens.name(to - 1) : (path?.at(-1) ?? '');
  const column = path === undefined ? undefined : columns.find((it) => it.name === path.at(-1));
  if (column !== undefined) return { ...column, name };
  return { name, type: path === undefined ? timestampType(spanText(value)) : undefined, isTimeIndex: false };
}

function timestampType(sql: string): string | undefined {
  const match = TIMESTAMP.exec(sql);
  if (match !== null) return TIMESTAMP_UNITS[(match[1] as string | undefined) ?? '3'];
  return TIME_FUNCTION.test(sql) ? TIMESTAMP_UNITS[9] : undefined;
}

function aliasAt({ tokens, from, to }: QueryText, name: string): { readonly alias: string; readonly to: number } {
  const at = from < to && tokens.isWord(from, 'AS') ? from + 1 : from;
  const isJoin = ['JOIN', 'INNER', 'LEFT', 'RIGHT', 'FULL', 'CROSS', 'NATURAL', 'ASOF', 'POSITIONAL', 'WHERE', 'ORDER'];
  const isAlias =
    at < to &&
    isName(tokens, at) &&
    (tokens.kind(at) === Kind.quoted || !isJoin.some((word) => tokens.isWord(at, word)));
  return isAlias && !(at === from && isClause(tokens.raw(at)))
    ? { alias: tokens.name(at), to: at + 1 }
    : { alias: name, to: from };
}

function isClause(word: string): boolean {
  return /^(?:group|having|limit|offset|union|intersect|except|window|qualify|on|using|tablesample)$/i.test(word);
}

/** Returns the query of a common table expression of the statement. */
function commonTable({ tokens, from }: QueryText, name: string): QueryText | undefined {
  let found: QueryText | undefined;
  for (let i = 0; i < from; i++) {
    if (!isName(tokens, i) || tokens.name(i) !== name) continue;
    const isFirst = tokens.isWord(i - 1, 'WITH') || tokens.isWord(i - 1, 'RECURSIVE') || tokens.isSymbol(i - 1, ',');
    if (!isFirst || !tokens.isWord(i + 1, 'AS')) continue;
    let at = i + 2;
    while (tokens.isWord(at, 'NOT') || tokens.isWord(at, 'MATERIALIZED')) at++;
    if (tokens.isSymbol(at, '(')) found = { tokens, from: at + 1, to: afterGroup(tokens, at, tokens.count) - 1 };
  }
  return found;
}
