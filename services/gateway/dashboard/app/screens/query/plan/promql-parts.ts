/** A part of a query that has a result of its own. */
export interface QueryPart {
  /** As it is in the query. */
  readonly text: string;
  /** The text, with `…` for the parts below. */
  readonly title: string;
  /** Whether its result has all samples of a range: the newest ones stand for them. */
  readonly isRange: boolean;
  readonly children: readonly QueryPart[];
}

/** A node of a query's tree, as far as it is used here. */
export interface TreeNode {
  readonly type: string;
  /** Missing in replies of older servers. */
  readonly start?: number;
  readonly end?: number;
  readonly expr?: TreeNode;
  readonly lhs?: TreeNode;
  readonly rhs?: TreeNode;
  readonly param?: TreeNode | null;
  readonly args?: readonly TreeNode[];
}

const LITERALS: readonly string[] = ['numberLiteral', 'stringLiteral'];
const RANGES: readonly string[] = ['matrixSelector', 'subquery'];

/** Returns the parts of a query by its tree. Numbers, texts and parentheses are no parts of their own. */
export function queryParts(tree: TreeNode, query: string): QueryPart {
  return partOf(withoutParentheses(tree), query);
}

function partOf(node: TreeNode, query: string): QueryPart {
  const { start = 0, end = query.length } = node;
  const children = (node.start === undefined ? [] : childrenOf(node))
    .filter(({ type }) => !LITERALS.includes(type))
    .sort((a, b) => (a.start ?? 0) - (b.start ?? 0));
  let title = '';
  let at = start;
  for (const child of children) {
    title += `${query.slice(at, child.start)}…`;
    at = child.end ?? end;
  }
  title += query.slice(at, end);
  return {
    text: query.slice(start, end),
    title: title.replace(/\s+/g, ' ').trim(),
    isRange: RANGES.includes(node.type),
    children: children.map((child) => partOf(child, query)),
  };
}

function childrenOf({ expr, lhs, rhs, param, args = [] }: TreeNode): readonly TreeNode[] {
  const all = [param, expr, lhs, rhs, ...args];
  return all.flatMap((child) => (child === undefined || child === null ? [] : [withoutParentheses(child)]));
}

function withoutParentheses(node: TreeNode): TreeNode {
  return node.type === 'parenExpr' && node.expr !== undefined ? withoutParentheses(node.expr) : node;
}
