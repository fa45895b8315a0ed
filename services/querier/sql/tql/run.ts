import { typeOf, type Expr } from '../../promql/syntax/ast.js';
import { stepCount } from '../../promql/index.js';
import { hasSamples, type StepSeries } from '../../promql/runtime/samples.js';
import { parseQuery } from '../../promql/syntax/parse.js';
import { printExpr } from '../../promql/syntax/print.js';
import type { StatementContext } from '../statement.js';
import { scalarColumns, textColumns, vectorColumns } from './columns.js';
import type { PromSession } from '../../promql/engine.js';
import { timesOf, type TqlTimes } from './parameters.js';
import { scalarResult, vectorResult, type TqlResult } from './result.js';
import type { TqlText } from '../syntax/tql-text.js';
import { fieldQueries, subjectsOf, type FieldQuery } from './subjects.js';

/** Query, result and statistics of a statement. */
export interface TqlRun {
  readonly expr: Expr;
  readonly times: TqlTimes;
  readonly result: TqlResult;
  readonly peakSamples: number;
}

/** A query that is ready to be evaluated. */
interface PreparedTql {
  readonly text: TqlText;
  readonly expr: Expr;
  readonly times: TqlTimes;
  readonly session: PromSession;
}

/** Evaluates the query of a statement. @param session what is read. @throws PromQL's errors, and those of parameters. */
export async function runTql(text: TqlText, context: StatementContext, session: PromSession): Promise<TqlRun> {
  const times = await timesOf(text.parameters, context);
  const expr = parseQuery(text.query, context.deps.promql.dialect);
  const asked = { text, expr, times, session };
  const type = typeOf(expr);
  if (type === 'string') return instantText(asked, context.deps.promql.stepsMax);
  const subjects = await context.slot.releaseWhile(() => subjectsOf(expr, session, context.deps, context.call));
  const queries = type === 'vector' ? fieldQueries(expr, subjects) : [{ expr, isPart: false }];
  const series: (readonly StepSeries[])[] = [];
  const { startMs, stepMs } = times;
  let peakSamples = 0;
  let count = 0;
  for (const query of queries) {
    const { result: evaluated, peakSamples: peak } = await session.evaluate({ ...times, query: queryOf(text, query) });
    peakSamples = Math.max(peakSamples, peak);
    count = evaluated.steps;
    const steps = { startMs, stepMs, count };
    if (evaluated.value.kind === 'scalar') {
      const columns = scalarColumns(subjects, text.alias);
      return { expr, times, result: scalarResult(columns, evaluated.value.values, steps), peakSamples };
    }
    series.push(evaluated.value.kind === 'vector' ? evaluated.value.series.filter(hasSamples) : []);
  }
  const columns = vectorColumns({
    ...{ expr, subjects, series, alias: text.alias },
    parts: queries.map((query) => query.expr),
    histogramColumn: context.deps.promql.names.histogramColumn,
  });
  return { expr, times, result: vectorResult(columns, series, { startMs, stepMs, count }), peakSamples };
}

/** A string is the same at every step. */
async function instantText({ text, expr, times, session }: PreparedTql, stepsMax: number): Promise<TqlRun> {
  const { startMs, endMs, stepMs } = times;
  const { result, peakSamples } = await session.evaluate({ ...times, endMs: startMs, stepMs: 0, query: text.query });
  const value = result.value.kind === 'string' ? result.value.value : '';
  const count = stepCount({ startMs, endMs, stepMs, stepsMax });
  const columns = textColumns(text.alias);
  return { expr, times, result: scalarResult(columns, value, { startMs, stepMs, count }), peakSamples };
}

/** Error positions refer to the query as written, so the original text is used where it is what is evaluated. */
function queryOf({ query }: TqlText, { expr, isPart }: FieldQuery): string {
  return isPart ? printExpr(expr) : query;
}
