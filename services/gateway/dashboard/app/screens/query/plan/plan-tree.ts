/** An operator of a plan. */
export interface PlanNode {
  readonly name: string;
  /** What it reads, compares or computes, by name. */
  readonly facts: readonly (readonly [name: string, text: string])[];
  /** Time in the operator itself; undefined: the query was not run. */
  readonly ms: number | undefined;
  /** Rows that it returned, or was expected to return. */
  readonly rows: number | undefined;
  readonly children: readonly PlanNode[];
  /** Whether it is on the way from the root along the operators that took most time, with what is below them. */
  readonly isHot: boolean;
}

/** What EXPLAIN says of a query. */
export interface QueryPlan {
  /** `kernels`, or `engine` and why. */
  readonly path: string;
  /** Lines on what is read of each table. */
  readonly scans: readonly string[];
  /** Duration of the parts, by name; empty if the query was not run. */
  readonly took: readonly (readonly [part: string, ms: number])[];
  /** What kernels read, by name; empty if they did not run it. */
  readonly columns: readonly (readonly [what: string, count: number])[];
  readonly roots: readonly PlanNode[];
  /** All times of operators together, in milliseconds. */
  readonly totalMs: number;
}

interface Summary {
  readonly scans: readonly string[];
  readonly path: string;
  readonly columns?: Readonly<Record<string, number>>;
  readonly snapshot_ms?: number;
  readonly kernels_ms?: number;
  readonly engine_ms?: number;
}

/** An operator, as the engine prints it: with other names when the query was run. */
interface RawNode {
  readonly name?: string;
  readonly operator_name?: string;
  readonly operator_timing?: number;
  readonly operator_cardinality?: number;
  readonly extra_info?: Readonly<Record<string, unknown>>;
  readonly children?: readonly RawNode[];
}

const TITLES: Readonly<Record<string, string>> = {
  snapshot_ms: 'snapshot',
  kernels_ms: 'kernels',
  engine_ms: 'engine',
  row_groups_in_memory: 'row groups in memory',
  row_groups_read: 'row groups read',
  decoded_bytes: 'bytes decoded',
};
const ROWS_EXPECTED = 'Estimated Cardinality';

/** Reads the texts of both rows of `EXPLAIN [ANALYZE] FORMAT JSON`. @throws SyntaxError */
export function parsePlan(summaryText: string, planText: string): QueryPlan {
  const summary = JSON.parse(summaryText) as Summary;
  const plan = JSON.parse(planText) as RawNode | readonly RawNode[];
  const roots = (isList(plan) ? plan : (plan.children ?? [])).map(planNode);
  return {
    path: summary.path,
    scans: summary.scans,
    took: (['snapshot_ms', 'kernels_ms', 'engine_ms'] as const).flatMap((name) => {
      const ms = summary[name];
      return ms === undefined ? [] : [[TITLES[name], ms] as const];
    }),
    columns: Object.entries(summary.columns ?? {}).map(([name, count]) => [TITLES[name] ?? name, count]),
    roots: roots.map((root) => marked(root, true)),
    totalMs: roots.reduce((sum, root) => sum + msBelow(root), 0),
  };
}

function isList(plan: RawNode | readonly RawNode[]): plan is readonly RawNode[] {
  return Array.isArray(plan);
}

function planNode(raw: RawNode): PlanNode {
  const info = Object.entries(raw.extra_info ?? {});
  const expected = info.find(([name]) => name === ROWS_EXPECTED)?.[1];
  const rows = raw.operator_cardinality ?? (expected === undefined ? undefined : Number(expected));
  return {
    name: (raw.operator_name ?? raw.name ?? '').trim().toLowerCase().replaceAll('_', ' '),
    facts: info.filter(([name]) => name !== ROWS_EXPECTED).map(([name, value]) => [name, textOf(value)]),
    ms: raw.operator_timing === undefined ? undefined : raw.operator_timing * 1000,
    rows: Number.isFinite(rows) ? rows : undefined,
    children: (raw.children ?? []).map(planNode),
    isHot: false,
  };
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function msBelow({ ms = 0, children }: PlanNode): number {
  return children.reduce((sum, child) => sum + msBelow(child), ms);
}

function marked(node: PlanNode, isHot: boolean): PlanNode {
  const times = node.children.map(msBelow);
  const most = Math.max(...times);
  return {
    ...node,
    isHot: isHot && node.ms !== undefined,
    children: node.children.map((child, i) => marked(child, isHot && times[i] === most && most > 0)),
  };
}
