import { Kind } from '../syntax/lex.js';
import type { LayoutToken } from './tokens.js';

/** A token, or brackets with what is between them. */
export type LayoutNode = LayoutToken | LayoutGroup;

/** Brackets with what is between them. */
export interface LayoutGroup {
  readonly open: LayoutToken;
  readonly nodes: readonly LayoutNode[];
  readonly close: LayoutToken;
  /** Width of all on one line, without the space before; infinite if that is not possible. */
  readonly width: number;
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
/** Words before which a line begins. */
const CLAUSES = new Set(
  'SELECT FROM WHERE GROUP ORDER HAVING QUALIFY WINDOW LIMIT OFFSET UNION INTERSECT EXCEPT VALUES RETURNING'.split(' '),
);
const JOIN_WORDS = new Set('LEFT RIGHT FULL INNER OUTER CROSS ASOF NATURAL SEMI ANTI JOIN'.split(' '));
/** Words after which FROM begins no clause. */
const BEFORE_FROM = new Set(['DELETE', 'DISTINCT']);

/** Makes a tree of the brackets. Returns undefined if they do not match. */
export function nodesOf(tokens: readonly LayoutToken[]): LayoutNode[] | undefined {
  const outer: LayoutNode[] = [];
  const stack: { readonly open: LayoutToken; readonly nodes: LayoutNode[] }[] = [];
  for (const token of tokens) {
    const nodes = stack.at(-1)?.nodes ?? outer;
    const isSymbol = token.kind === Kind.symbol;
    if (isSymbol && CLOSING[token.text] !== undefined) {
      stack.push({ open: token, nodes: [] });
    } else if (isSymbol && (token.text === ')' || token.text === ']' || token.text === '}')) {
      const group = stack.pop();
      if (group === undefined || CLOSING[group.open.text] !== token.text) return undefined;
      const width = 1 + widthOf(group.nodes) + widthOf([token]);
      (stack.at(-1)?.nodes ?? outer).push({ ...group, close: token, width });
    } else nodes.push(token);
  }
  return stack.length === 0 ? outer : undefined;
}

/**
 * Returns the width of nodes on one line; infinite if a comment or a text has several lines, or ends its line.
 *
 * @param isLineStart whether they begin a line: comments before the first one are not counted then.
 */
export function widthOf(nodes: readonly LayoutNode[], isLineStart = false): number {
  let width = 0;
  for (const [i, node] of nodes.entries()) {
    const first = firstToken(node);
    const comments = i === 0 && isLineStart ? [] : first.comments;
    for (const { text, isFirst, isLast } of comments) {
      if (isFirst || isLast || text.includes('\n')) return Infinity;
      width += text.length + 1;
    }
    width += (first.hasSpace && i > 0 ? 1 : 0) + (isGroup(node) ? node.width : tokenWidth(node));
  }
  return width;
}

function tokenWidth({ text }: LayoutToken): number {
  return text.includes('\n') ? Infinity : text.length;
}

/** Whether a node is brackets. */
export function isGroup(node: LayoutNode): node is LayoutGroup {
  return 'open' in node;
}

/** Returns the token with which a node begins. */
export function firstToken(node: LayoutNode): LayoutToken {
  return isGroup(node) ? node.open : node;
}

/** Whether the nodes are a query, whose clauses have lines of their own. */
export function isQueryText(nodes: readonly LayoutNode[]): boolean {
  const [first] = nodes;
  return first !== undefined && (isKeyword(first, 'SELECT') || isKeyword(first, 'WITH') || isKeyword(first, 'VALUES'));
}

/** Splits a statement before each of its clauses. */
export function splitClauses(nodes: readonly LayoutNode[]): LayoutNode[][] {
  return splitBefore(nodes, (node, i) => {
    const previous = nodes[i - 1];
    const word = isGroup(node) || !node.isKeyword ? '' : node.text;
    const before = isGroup(previous) || !previous.isKeyword ? '' : previous.text;
    if (JOIN_WORDS.has(word)) return !JOIN_WORDS.has(before);
    if (word === 'FROM') return !BEFORE_FROM.has(before);
    return CLAUSES.has(word);
  });
}

/** Splits before each AND and OR, but not before that of BETWEEN. */
export function splitConditions(nodes: readonly LayoutNode[]): LayoutNode[][] {
  let between = 0;
  return splitBefore(nodes, (node) => {
    if (isKeyword(node, 'BETWEEN')) between++;
    if (isKeyword(node, 'OR')) return true;
    if (!isKeyword(node, 'AND')) return false;
    if (between === 0) return true;
    between--;
    return false;
  });
}

/** Splits after each comma. */
export function splitItems(nodes: readonly LayoutNode[]): LayoutNode[][] {
  return splitBefore(nodes, (_node, i) => {
    const previous = nodes[i - 1];
    return !isGroup(previous) && previous.kind === Kind.symbol && previous.text === ',';
  });
}

/** Returns the number of keywords with which nodes begin. */
export function headLength(nodes: readonly LayoutNode[]): number {
  const end = nodes.findIndex((node) => isGroup(node) || !node.isKeyword);
  return end === -1 ? nodes.length : end;
}

function splitBefore(nodes: readonly LayoutNode[], isStart: (node: LayoutNode, i: number) => boolean): LayoutNode[][] {
  const parts: LayoutNode[][] = [];
  for (const [i, node] of nodes.entries()) {
    // The first node begins the first part, whatever it is.
    if (i === 0 || isStart(node, i)) parts.push([]);
    parts.at(-1)?.push(node);
  }
  return parts;
}

function isKeyword(node: LayoutNode, word: string): boolean {
  return !isGroup(node) && node.isKeyword && node.text === word;
}
