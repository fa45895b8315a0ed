import { checkCall } from '#shared/contracts/call';

import { outputTable } from '../run/table-output.js';
import { type TableOutput } from '../statement.js';
import { EXPLAINED, planText } from '../tql/plan-text.js';
import { runTql } from '../tql/run.js';
import type { TqlResult } from '../tql/result.js';
import { parseTql, type TqlText } from '../syntax/tql-text.js';
import { ReadCounts } from '../tql/read-counts.js';
import { timesOf } from '../tql/parameters.js';
import { parseQuery } from '../../promql/syntax/parse.js';
import type { StatementContext, StatementEvent, StatementKind } from '../statement.js';

const ANALYZED: TableOutput['columns'] = [
  { name: 'stage', type: 'Int64' },
  { name: 'node', type: 'Int64' },
  { name: 'plan', type: 'String' },
];

/** `TQL EVAL|EXPLAIN|ANALYZE (start, end, step[, lookback]) query [AS name]`: PromQL as a statement. */
export const tql: StatementKind = {
  name: 'TQL',

  matches: (cursor) => cursor.sees('TQL'),

  parse(cursor) {
    const text = parseTql(cursor);
    return {
      isQuery: true,
      async check({ deps }) {
        await Promise.resolve();
        parseQuery(text.query, deps.promql.dialect);
      },
      run: (context) => runs[text.verb](text, context),
    };
  },
};

type Run = (text: TqlText, context: StatementContext) => AsyncIterable<StatementEvent>;
const runs: Readonly<Record<TqlText['verb'], Run>> = { eval: evaluate, explain, analyze };

async function* evaluate(text: TqlText, context: StatementContext): AsyncIterable<StatementEvent> {
  const { deps, session, call, slot } = context;
  const samples = deps.promql.open(session.database, call, slot);
  try {
    const { result } = await runTql(text, context, samples);
    yield { kind: 'schema', columns: result.columns.map(({ name, type }) => ({ name, type: type.name })) };
    yield* rowEvents(result, context);
  } finally {
    samples.close();
  }
}

async function* rowEvents(result: TqlResult, context: StatementContext): AsyncIterable<StatementEvent> {
  const { deps, call, format, limit = Infinity } = context;
  const { columns } = result;
  let left = limit;
  for (const cells of result.blocks()) {
    if (left === 0) return;
    await deps.clock.yield();
    checkCall(call);
    const rows = Math.min(cells[0].length, left);
    left -= rows;
    yield { kind: 'text', text: format.encodeRows(columns, cells, rows), rows };
  }
}

async function* explain(text: TqlText, context: StatementContext): AsyncIterable<StatementEvent> {
  const times = await timesOf(text.parameters, context);
  const expr = parseQuery(text.query, context.deps.promql.dialect);
  const [logical, physical] = planText(expr, times, text);
  const rows = [
    ['logical_plan', logical],
    ['physical_plan', physical],
  ];
  yield* outputTable(context, { columns: EXPLAINED, rows });
}

/** Evaluates the query and returns what it read instead of its result. */
async function* analyze(text: TqlText, context: StatementContext): AsyncIterable<StatementEvent> {
  const { deps, session, call, slot } = context;
  const samples = deps.promql.open(session.database, call, slot);
  const counts = new ReadCounts(samples);
  try {
    const { expr, times, result, peakSamples } = await runTql(text, context, counts);
    let rowCount = 0;
    for (const cells of result.blocks()) rowCount += cells[0].length;
    const [logical] = planText(expr, times, text);
    const rows = [
      [0, 0, logical],
      ...counts.lines().map((line, node) => [1, node, line]),
      [null, null, `Peak samples: ${peakSamples}`],
      [null, null, `Total rows: ${rowCount}`],
    ];
    yield* outputTable(context, { columns: ANALYZED, rows });
  } finally {
    samples.close();
  }
}
