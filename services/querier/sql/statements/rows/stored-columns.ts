import type { Column, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { METRIC_NAME, PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import type { CellValue } from '#shared/write/cell-value';

import { sourceOf, type MetricSource } from '../../../snapshot/logical-table.js';

/** A column that gets the same value in all rows of a statement. */
export interface FilledCell {
  readonly column: Column;
  readonly value: CellValue;
}

/** @throws `unsupported` for a physical metric table: its rows are written as those of metrics. */
export function checkWritable(table: Table): void {
  if (PHYSICAL_METRIC_TABLE in table.options && sourceOf(table) === undefined) {
    throw new AlmanacError('unsupported', 'Write request to physical region is forbidden');
  }
}

/** What rows of a metric have in the physical table besides their own columns. */
export function metricCell({ physical: { columns }, metric }: MetricSource): FilledCell {
  const column = columns.find(({ name }) => name === METRIC_NAME);
  invariant(column !== undefined, 'a metric without a column for names of metrics');
  return { column, value: metric };
}

/** The column of the physical table that a metric's column is. */
export function storedColumn({ physical: { columns } }: MetricSource, { id }: Column): Column {
  const column = columns.find((candidate) => candidate.id === id);
  invariant(column !== undefined, 'a column of a metric that its table does not have');
  return column;
}
