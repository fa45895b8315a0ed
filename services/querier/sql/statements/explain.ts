import type { ColumnCounts } from '../../columns/query-columns.js';
import type { Cursor } from '../syntax/cursor.js';
import { givenRelation } from '../system-tables/given-table.js';
import { kernelQuery } from '../run/kernel-run.js';
import { fastResult, withBoundQuery, type BoundQuery } from '../run/run-query.js';
import { scanLines } from '../run/scan-lines.js';
import { outputTable } from '../run/table-output.js';
import { type TableOutput } from '../statement.js';
import type { StatementContext, StatementKind } from '../statement.js';

const PLAN_COLUMNS: TableOutput['columns'] = [
  { name: 'plan_type', type: 'String' },
  { name: 'plan', type: 'String' },
];
const ANALYZE_COLUMNS: TableOutput['columns'] = [
  { name: 'stage', type: 'Int64' },
  { name: 'node', type: 'Int64' },
  { name: 'plan', type: 'String' },
];

/** Contents of the columns of a plan. */
interface Plans {
  /** What runs the query: `kernels`, or `engine` and why. */
  readonly path: string;
  /** Lines that describe what is read of each table. */
  readonly scans: readonly string[];
  /** What kernels read; undefined: they did not run it. */
  readonly counts: ColumnCounts | undefined;
  /** Duration of the snapshot, and of the kernels or the engine. */
  readonly tookMs: readonly [snapshot: number, run: number];
  /** The engine's plan in the requested format. */
  readonly engine: string;
}

interface Format {
  /** The engine's name of the format. */
  readonly option: string;
  physical(plans: Plans): string;
  logical(plans: Plans): string;
  /** Prints plans like `logical`, for a query that was run. */
  analyzed(plans: Plans): string;
}

const TEXT: Format = {
  option: 'TEXT',
  physical: ({ engine, path }) => `${path === 'kernels' ? 'not run: what the engine would do\n' : ''}${scrub(engine)}`,
  logical: ({ scans, path }) => (scans.length === 0 ? 'no tables' : [...scans, `path: ${path}`].join('\n')),
  analyzed(plans) {
    const [snapshot, run] = plans.tookMs.map((ms) => ms.toFixed(1));
    const { counts } = plans;
    const lines = [TEXT.logical(plans)];
    if (counts !== undefined) {
      const { knownGroups, readGroups, decodedBytes } = counts;
      lines.push(`columns: ${knownGroups} row groups in memory, ${readGroups} read, ${decodedBytes} bytes decoded`);
    }
    lines.push(`snapshot ${snapshot} ms, ${counts === undefined ? 'engine' : 'kernels'} ${run} ms`);
    return lines.join('\n');
  },
};

const JSON_FORMAT: Format = {
  option: 'JSON',
  physical({ engine, counts }) {
    const described = JSON.parse(engine) as object;
    // A plan that was not run is a list of operators.
    const plan = counts === undefined ? described : { children: described };
    // A result from statistics alone has no operators, which the engine reports as an error.
    if ('result' in plan) return JSON.stringify({ children: [] });
    return JSON.stringify(plan, (key, value: unknown) => {
      // The query's name is the text that the engine received.
      if (key === 'query_name') return undefined;
      return typeof value === 'string' ? scrub(value) : value;
    });
  },
  logical: ({ scans, path }) => JSON.stringify({ scans, path }),
  analyzed({ scans, path, counts, tookMs: [snapshot, run] }) {
    const took = { snapshot_ms: snapshot, [counts === undefined ? 'engine_ms' : 'kernels_ms']: run };
    const columns = counts && {
      row_groups_in_memory: counts.knownGroups,
      row_groups_read: counts.readGroups,
      decoded_bytes: counts.decodedBytes,
    };
    return JSON.stringify({ scans, path, columns, ...took });
  },
};

function parseFormat(cursor: Cursor): Format {
  if (!cursor.accept('FORMAT') || cursor.accept('TEXT')) return TEXT;
  if (cursor.accept('JSON')) return JSON_FORMAT;
  throw cursor.unexpected('JSON or TEXT');
}

/** `EXPLAIN [ANALYZE] [VERBOSE] [FORMAT JSON|TEXT] query`: the tables that it reads, and the engine's plan without internal details. */
export const explain: StatementKind = {
  name: 'EXPLAIN',

  matches: (cursor) => cursor.sees('EXPLAIN'),

  parse(cursor) {
    cursor.expect('EXPLAIN');
    const analyze = cursor.accept('ANALYZE');
    const isVerbose = cursor.accept('VERBOSE');
    const format = parseFormat(cursor);
    if (cursor.done) throw cursor.unexpected('query');
    const query = { tokens: cursor.tokens, from: cursor.at, to: cursor.to };
    return {
      isQuery: true,
      run: (context) =>
        withBoundQuery(context, query, async function* (bound) {
          const { connection, sql, planned, snapshot, snapshotMs } = bound;
          const tables = planned.plan.tables.filter(({ table }) => givenRelation(table) === undefined);
          const { reads } = snapshot;
          const scans = tables.flatMap(({ table }, i) => scanLines(table, reads[i], isVerbose));
          const { clock } = context.deps;
          const kernels = await kernelPart(bound, analyze, context);
          const startedMs = clock.monotonicMs();
          const options = `${analyze && kernels.counts === undefined ? 'ANALYZE, ' : ''}FORMAT ${format.option}`;
          const result = await connection.run(`EXPLAIN (${options}) ${await sql()}`, context.call.signal);
          let engine = '';
          for (const block of result.blocks()) engine += (block.cells(1) as string[]).join('\n');
          const plans: Plans = {
            ...kernels,
            scans,
            tookMs: [snapshotMs, kernels.counts === undefined ? clock.monotonicMs() - startedMs : kernels.kernelMs],
            engine,
          };
          yield* outputTable(
            context,
            analyze
              ? {
                  columns: ANALYZE_COLUMNS,
                  rows: [
                    [0, 0, format.analyzed(plans)],
                    [1, 0, format.physical(plans)],
                  ],
                }
              : {
                  columns: PLAN_COLUMNS,
                  rows: [
                    ['logical_plan', format.logical(plans)],
                    ['physical_plan', format.physical(plans)],
                  ],
                },
          );
        }),
    };
  },
};

/** The part of kernels in a query. */
interface KernelPart extends Pick<Plans, 'path' | 'counts'> {
  readonly kernelMs: number;
}

/** Finds out what runs a query. @param isRun whether kernels run it. */
async function kernelPart(bound: BoundQuery, isRun: boolean, context: StatementContext): Promise<KernelPart> {
  const { clock } = context.deps;
  const startedMs = clock.monotonicMs();
  const { kernel } = bound.planned.plan;
  if (isRun && 'engineRuns' in kernel) kernel.engineRuns = 0;
  const result = isRun ? await fastResult(bound, context) : undefined;
  if (typeof result === 'object') {
    const texts = result.texts?.[Symbol.asyncIterator]();
    try {
      while (texts !== undefined && (await texts.next()).done !== true);
    } finally {
      result.release();
    }
  }
  const kernelMs = clock.monotonicMs() - startedMs;
  const refusal = result ?? kernelQuery(bound, context);
  const path = typeof refusal === 'string' ? `engine: ${refusal}` : 'kernels';
  return { path, counts: typeof result === 'object' ? result.counts : undefined, kernelMs };
}

const INTERNAL =
  /[^\s\u2502]*(?:\.parquet|__t\d+|memory\.main|"temp"\.main)[^\s\u2502]*|\b(?:fresh|series)_\d+\w*|__almanac\w*|__tql_+\d+/g;

/** The rows that a term index selected, as the engine prints them: in JSON one text, otherwise broken into lines. */
const BITMAP = /(?:\u2502 *\(?[01]{16,},? *\u2502\n)+\u2502 *[01]+, [^\u2502]*\u2502\n|[01]{64,}/g;

/** The engine's plan names files and internal tables; users cannot do anything with these lines. */
function scrub(plan: string): string {
  return plan.replaceAll(BITMAP, '').replaceAll(INTERNAL, (name) => '·'.repeat(name.length));
}
