import type { Cursor } from '../syntax/cursor.js';
import { givenRelation } from '../system-tables/given-table.js';
import { kernelQuery } from '../run/kernel-run.js';
import { withBoundQuery } from '../run/run-query.js';
import { scanLines } from '../run/scan-lines.js';
import { outputTable } from '../run/table-output.js';
import { type TableOutput } from '../statement.js';
import type { StatementKind } from '../statement.js';

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
  /** Duration of the snapshot and of the engine. */
  readonly tookMs: readonly [snapshot: number, engine: number];
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
  physical: ({ engine }) => scrub(engine),
  logical: ({ scans, path }) => (scans.length === 0 ? 'no tables' : [...scans, `path: ${path}`].join('\n')),
  analyzed(plans) {
    const [snapshot, engine] = plans.tookMs.map((ms) => ms.toFixed(1));
    return `${TEXT.logical(plans)}\nsnapshot ${snapshot} ms, engine ${engine} ms`;
  },
};

const JSON_FORMAT: Format = {
  option: 'JSON',
  physical({ engine }) {
    const plan = JSON.parse(engine) as object;
    // A result from statistics alone has no operators, which the engine reports as an error.
    if ('result' in plan) return JSON.stringify({ children: [] });
    return JSON.stringify(plan, (key, value: unknown) => {
      // The query's name is the text that the engine received.
      if (key === 'query_name') return undefined;
      return typeof value === 'string' ? scrub(value) : value;
    });
  },
  logical: ({ scans, path }) => JSON.stringify({ scans, path }),
  analyzed: ({ scans, path, tookMs: [snapshot, engine] }) =>
    JSON.stringify({ scans, path, snapshot_ms: snapshot, engine_ms: engine }),
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
          const path = kernelQuery(bound, context);
          const tables = planned.plan.tables.filter(({ table }) => givenRelation(table) === undefined);
          const scans = tables.flatMap(({ table }, i) => scanLines(table, snapshot.reads[i], isVerbose));
          const { clock } = context.deps;
          const startedMs = clock.monotonicMs();
          const options = `${analyze ? 'ANALYZE, ' : ''}FORMAT ${format.option}`;
          const result = await connection.run(`EXPLAIN (${options}) ${sql}`, context.call.signal);
          let engine = '';
          for (const block of result.blocks()) engine += (block.cells(1) as string[]).join('\n');
          const plans: Plans = {
            path: typeof path === 'string' ? `engine: ${path}` : 'kernels',
            scans,
            tookMs: [snapshotMs, clock.monotonicMs() - startedMs],
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

const INTERNAL =
  /[^\s│]*(?:\.parquet|__t\d+|memory\.main|"temp"\.main)[^\s│]*|\b(?:fresh|series)_\d+\w*|__almanac\w*|__tql_+\d+/g;

/** The rows that a term index selected, as the engine prints them: in JSON one text, otherwise broken into lines. */
const BITMAP = /(?:│ *\(?[01]{16,},? *│\n)+│ *[01]+, [^│]*│\n|[01]{64,}/g;

/** The engine's plan names files and internal tables; users cannot do anything with these lines. */
function scrub(plan: string): string {
  return plan.replaceAll(BITMAP, '').replaceAll(INTERNAL, (name) => '·'.repeat(name.length));
}
