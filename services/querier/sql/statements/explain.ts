import { givenRelation } from '../given-table.js';
import { withBoundQuery } from '../run-query.js';
import { scanLines } from '../scan-lines.js';
import { outputTable, type TableOutput } from '../table-output.js';
import type { StatementKind } from './statement.js';

const PLAN_COLUMNS: TableOutput['columns'] = [
  { name: 'plan_type', type: 'String' },
  { name: 'plan', type: 'String' },
];
const ANALYZE_COLUMNS: TableOutput['columns'] = [
  { name: 'stage', type: 'Int64' },
  { name: 'node', type: 'Int64' },
  { name: 'plan', type: 'String' },
];

/** `EXPLAIN [ANALYZE] [VERBOSE] query`: the tables that it reads, and the engine's plan without what is inside them. */
export const explain: StatementKind = {
  name: 'EXPLAIN',

  matches: (cursor) => cursor.sees('EXPLAIN'),

  parse(cursor) {
    cursor.expect('EXPLAIN');
    const analyze = cursor.accept('ANALYZE');
    const isVerbose = cursor.accept('VERBOSE');
    if (cursor.accept('FORMAT')) cursor.name('format');
    if (cursor.done) throw cursor.unexpected('query');
    const query = { tokens: cursor.tokens, from: cursor.at, to: cursor.to };
    return {
      isQuery: true,
      run: (context) =>
        withBoundQuery(context, query, async function* ({ connection, sql, planned, snapshot, snapshotMs }) {
          const tables = planned.plan.tables.filter(({ table }) => givenRelation(table) === undefined);
          const scans = tables.flatMap(({ table }, i) => scanLines(table, snapshot.reads[i], isVerbose));
          const { clock } = context.deps;
          const startedMs = clock.monotonicMs();
          const result = await connection.run(`EXPLAIN ${analyze ? 'ANALYZE ' : ''}${sql}`, context.call.signal);
          let plan = '';
          for (const block of result.blocks()) plan += (block.cells(1) as string[]).join('\n');
          const engineMs = clock.monotonicMs() - startedMs;
          const times = `snapshot ${snapshotMs.toFixed(1)} ms, engine ${engineMs.toFixed(1)} ms`;
          const physical = scrub(plan);
          const logical = scans.length === 0 ? 'no tables' : scans.join('\n');
          yield* outputTable(
            context,
            analyze
              ? {
                  columns: ANALYZE_COLUMNS,
                  rows: [
                    [0, 0, `${logical}\n${times}`],
                    [1, 0, physical],
                  ],
                }
              : {
                  columns: PLAN_COLUMNS,
                  rows: [
                    ['logical_plan', logical],
                    ['physical_plan', physical],
                  ],
                },
          );
        }),
    };
  },
};

const INTERNAL =
  /[^\s│]*(?:\.parquet|__t\d+|memory\.main|"temp"\.main)[^\s│]*|\b(?:fresh|series)_\d+\w*|__almanac\w*|__tql_+\d+/g;

/** The engine's plan names files and internal tables; those lines say nothing to users. */
function scrub(plan: string): string {
  return plan.replaceAll(INTERNAL, (name) => '·'.repeat(name.length));
}
