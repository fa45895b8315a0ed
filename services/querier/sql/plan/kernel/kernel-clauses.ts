import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';

import { NotForKernels } from '../../../kernels/query.js';
import { sourceOf } from '../../../snapshot/logical-table.js';
import type { Ast } from '../../syntax/ast.js';
import { givenRelation } from '../../system-tables/given-table.js';
import { isSystemTable } from '../../system-tables/system-table.js';
import type { PlanTable } from '../plan-table.js';

/** Members of a SELECT that the general shape of the tree does not name. */
export interface SelectDetails {
  readonly group_sets?: readonly (readonly number[])[];
  readonly aggregate_handling?: string;
  readonly sample?: unknown;
}

/** Checks that a query has no clause that kernels do not know. @throws `NotForKernels` */
export function checkClauses(ast: Ast, from: Ast): void {
  const { qualify, cte_map: ctes } = ast;
  const samples = [ast, from, ast.from_table].map((node) => (node as SelectDetails | undefined)?.sample ?? null);
  const hasNames = (from.column_name_alias ?? []).length > 0;
  if (qualify) throw new NotForKernels('QUALIFY');
  if ((ctes?.map.length ?? 0) > 0) throw new NotForKernels('WITH');
  if (hasNames) throw new NotForKernels('renamed columns');
  if (samples.some((sample) => sample !== null)) throw new NotForKernels('a sample');
}

/** Checks that kernels can read a table. @throws `NotForKernels` */
export function checkTable({ table }: PlanTable): void {
  if (isSystemTable(table) || givenRelation(table) !== undefined) {
    throw new NotForKernels('the table has no rows of its own');
  }
  if (sourceOf(table) !== undefined || table.options[PHYSICAL_METRIC_TABLE] === 'true') {
    throw new NotForKernels('the table has metrics');
  }
}
