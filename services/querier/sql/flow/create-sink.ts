import type { StatementContext } from '../statement.js';
import type { FlowPlan } from './plan.js';
import { newSinkColumns } from './sink.js';

const SINK_OPTIONS = { comment: 'Auto created table by flow engine' };

/** Creates the sink of a flow, unless it exists. */
export async function createSink(
  database: string,
  name: string,
  plan: FlowPlan,
  { deps, call }: StatementContext,
): Promise<void> {
  const columns = newSinkColumns(plan);
  const primaryKey = columns.filter(({ kind }) => kind === 'tag').map((column) => column.name);
  const request = { database, name, columns, primaryKey, options: SINK_OPTIONS, ifNotExists: true, regions: 0 };
  const { catalogVersion } = await deps.metadata.createTable(request, call);
  await deps.catalog.reached(catalogVersion, call);
}
