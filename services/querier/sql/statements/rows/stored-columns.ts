import type { Column, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { METRIC_NAME, PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import type { CellValue } from '#shared/write/cell-value';

import { sourceOf, type MetricSource } from '../../../snapshot/logical-table.js';

/** A column with the same value in all rows of a statement. */
export interface FilledCell {
  readonly column: Column;
  readonly value: CellValue;
}

/** Refuses physical metric tables, whose rows are written through metrics. @throws `unsupported`. */
export function checkWritable(table: Table): void {
  if (PHYSICAL_METRIC_TABLE in table.options && sourceOf(table) === undefined) {
    throw new AlmanacError('unsupported', 'Write request to physical region is forbidden');
  }
}

/** Returns the cell that names the metric in rows of the physical table. */
export function metricCell({ physical: { columns }, metric }: MetricSource): FilledCell {
  const column = columns.find(({ name }) => name === METRIC_NAME);
  invariant(column !== undefined, 'a physical metric table lacks the metric name column');
  return { column, value: metric };
}

/** Returns the physical table's column for a column of a metric. */
export function storedColumn({ physical: { columns } }: MetricSource, { id }: Column): Column {
  const column = columns.find((candidate) => candidate.id === id);
  invariant(column !== undefined, 'a metric has a column that its physical table lacks');
  return column;
}
