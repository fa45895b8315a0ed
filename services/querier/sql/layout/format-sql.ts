import { Kind, lexSql, type Tokens } from '../syntax/lex.js';
import { splitStatements } from '../syntax/split.js';
import {
  firstToken,
  headLength,
  isGroup,
  isQueryText,
  nodesOf,
  splitClauses,
  splitConditions,
  splitItems,
  widthOf,
  type LayoutGroup,
  type LayoutNode,
} from './nodes.js';
import { commentsBefore, layoutTokens, type LayoutToken, type SqlComment } from './tokens.js';

const LINE_WIDTH = 88;
/** A statement of at most this width is one line. */
const SHORT_WIDTH = 60;
const INDENT = 2;

/**
 * Lays out the statements of a text: a line for each clause, keywords in upper case. Names, texts, numbers and comments stay
 * as they are, and so does a statement in another language, such as TQL. Laying out the result returns it unchanged.
 *
 * @throws `invalid_syntax` for a text that has no tokens of SQL.
 */
export function formatSql(source: string): string {
  const tokens = lexSql(source);
  const texts: string[] = [];
  let next = 0;
  for (const { from, to } of splitStatements(tokens)) {
    texts.push(statementText(tokens, { from, to }, commentsAt(tokens, next, from)));
    next = to + 1;
  }
  const rest = new Printer().comments(commentsAt(tokens, next, tokens.count)).text();
  const text = [...texts, ...(rest === '' ? [] : [rest])].join('\n\n');
  // A text that would mean something else is never returned.
  return isSameText(tokens, lexSql(text)) ? text : source;
}

/** Returns the comments before any of these tokens, of which all but the last are semicolons. */
function commentsAt(tokens: Tokens, from: number, to: number): SqlComment[] {
  const comments: SqlComment[] = [];
  for (let i = from; i <= to; i++) comments.push(...(commentsBefore(tokens, i) ?? []));
  return comments;
}

interface TokenRange {
  readonly from: number;
  readonly to: number;
}

/** @param comments before the statement. */
function statementText(tokens: Tokens, { from, to }: TokenRange, comments: readonly SqlComment[]): string {
  const parts = isOfOtherLanguage(tokens, from, to) ? undefined : layoutTokens(tokens, from, to);
  const nodes = parts === undefined ? undefined : nodesOf([{ ...parts[0], comments }, ...parts.slice(1)]);
  const printer = new Printer();
  if (nodes === undefined) {
    const text = tokens.source.slice(tokens.start(from), tokens.end(to - 1));
    return printer.comments(comments).verbatim(text).end([]);
  }
  if (widthOf(nodes, true) <= SHORT_WIDTH) printer.flat(nodes);
  else printer.clauses(nodes, 0);
  return printer.end(commentsBefore(tokens, to) ?? []);
}

function isOfOtherLanguage(tokens: Tokens, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (tokens.kind(i) === Kind.promql) return true;
  return false;
}

/** Whether two texts have the same tokens and comments, except the case of words and semicolons without a statement. */
function isSameText(a: Tokens, b: Tokens): boolean {
  const [comments, others] = [a, b].map((tokens) => commentsAt(tokens, 0, tokens.count).map(({ text }) => text));
  if (comments.join('\n') !== others.join('\n')) return false;
  const [first, second] = [a, b].map((tokens) =>
    splitStatements(tokens).map(({ from, to }) => ({ tokens, from, to, count: to - from })),
  );
  if (first.length !== second.length) return false;
  return first.every((one, i) => {
    const other = second[i];
    if (one.count !== other.count) return false;
    for (let at = 0; at < one.count; at++) {
      const kind = a.kind(one.from + at);
      if (kind !== b.kind(other.from + at)) return false;
      const [x, y] = [a.raw(one.from + at), b.raw(other.from + at)];
      if (x !== y && (kind !== Kind.word || x.toLowerCase() !== y.toLowerCase())) return false;
    }
    return true;
  });
}

/** Prints nodes, breaking lines where they would be too long. */
class Printer {
  readonly #lines: string[] = [];
  readonly #printed = new Set<SqlComment>();
  #line = '';
  #indent = 0;

  /** Prints nodes on one line. */
  flat(nodes: readonly LayoutNode[]): void {
    for (const node of nodes) {
      if (!isGroup(node)) this.#token(node);
      else {
        this.#token(node.open);
        this.flat(node.nodes);
        this.#token(node.close);
      }
    }
  }

  /** Prints the clauses of a statement, each on a line of its own. */
  clauses(nodes: readonly LayoutNode[], indent: number): void {
    for (const [i, clause] of splitClauses(nodes).entries()) {
      this.#indent = indent;
      if (i > 0) this.#breakBefore(clause[0]);
      if (this.#fits(clause)) this.flat(clause);
      else this.#clause(clause, indent);
    }
  }

  /** Ends the statement. @param comments after its last token. */
  end(comments: readonly SqlComment[]): string {
    this.#indent = 0;
    this.comments(comments);
    this.#line += ';';
    return this.text();
  }

  /** Prints a text as it is. */
  verbatim(text: string): this {
    if (this.#line !== '') this.#line += ' ';
    this.#append(text);
    return this;
  }

  /** Returns what was printed. */
  text(): string {
    return [...this.#lines, ...(this.#line === '' ? [] : [this.#line])].join('\n');
  }

  #fits(nodes: readonly LayoutNode[]): boolean {
    return Math.max(this.#line.length, this.#indent) + 1 + widthOf(nodes, this.#line === '') <= LINE_WIDTH;
  }

  #clause(clause: readonly LayoutNode[], indent: number): void {
    const head = headLength(clause);
    const rest = clause.slice(head);
    this.flat(clause.slice(0, head));
    const items = splitItems(rest);
    if (items.length > 1) return this.#list(items, indent + INDENT);
    this.#conditions(rest, indent);
  }

  /** Prints the items of a list, each on a line of its own. */
  #list(items: readonly LayoutNode[][], indent: number): void {
    for (const item of items) {
      this.#indent = indent;
      this.#breakBefore(item[0]);
      if (this.#fits(item)) this.flat(item);
      else this.#conditions(item, indent);
    }
  }

  #conditions(nodes: readonly LayoutNode[], indent: number): void {
    for (const [i, condition] of splitConditions(nodes).entries()) {
      if (i > 0) {
        this.#indent = indent + INDENT;
        this.#breakBefore(condition[0]);
      }
      if (this.#fits(condition)) this.flat(condition);
      else for (const node of condition) this.#node(node, indent);
    }
  }

  #node(node: LayoutNode, indent: number): void {
    if (!isGroup(node)) return this.#token(node);
    if (this.#fits([node])) return this.flat([node]);
    this.#group(node, indent);
  }

  #group({ open, nodes, close }: LayoutGroup, indent: number): void {
    this.#token(open);
    if (nodes.length > 0) {
      const inner = indent + INDENT;
      this.#indent = inner;
      if (isQueryText(nodes)) {
        this.#breakBefore(nodes[0]);
        this.clauses(nodes, inner);
      } else this.#list(splitItems(nodes), inner);
      this.#indent = indent;
      this.#breakBefore(close);
    }
    this.#token(close);
  }

  #token({ text, comments, hasSpace }: LayoutToken): void {
    this.comments(comments);
    if (this.#line !== '' && (hasSpace || comments.length > 0)) this.#line += ' ';
    this.#append(text);
  }

  /** Prints comments, each on a line of its own if it was. */
  comments(comments: readonly SqlComment[]): this {
    for (const comment of comments) {
      if (this.#printed.has(comment)) continue;
      const { text, isFirst, isLast } = comment;
      if (isFirst) this.#break();
      else if (this.#line !== '') this.#line += ' ';
      this.#append(text);
      if (isLast) this.#break();
    }
    return this;
  }

  #append(text: string): void {
    this.#line += this.#line === '' ? ' '.repeat(this.#indent) + text : text;
  }

  /** Ends the line before a node; comments that ended it still do. */
  #breakBefore(node: LayoutNode): void {
    const { comments } = firstToken(node);
    const end = comments.findIndex(({ isFirst, isLast }) => isFirst || isLast);
    if (end !== -1 && !comments[end].isFirst) {
      const ending = comments.slice(0, end + 1);
      this.comments(ending);
      for (const comment of ending) this.#printed.add(comment);
    }
    this.#break();
  }

  /** Ends the line, unless nothing is on it. */
  #break(): void {
    if (this.#line !== '') this.#lines.push(this.#line);
    this.#line = '';
  }
}
