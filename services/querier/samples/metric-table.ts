import type { Column, Table } from '#shared/contracts/gen/common';
import { dataType } from '#shared/schema/data-type';
import { labelOfColumn as labelOfMetricColumn } from '#shared/schema/label-column';
import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import { fieldsOf } from '#shared/schema/table-schema';

import type { SampleColumns } from './sample-slice.js';

/** Reports whether the table is a physical metric table, in which the metric name is a tag. */
export function isMetricTable({ options }: Table): boolean {
  return options[PHYSICAL_METRIC_TABLE] === 'true';
}

/** Returns the label name of a tag column. */
export function labelOfTagColumn(table: Table, column: string): string {
  return isMetricTable(table) ? labelOfMetricColumn(column) : column;
}

/** A field whose values are samples, and the columns that store it. */
export interface SampleField {
  readonly name: string;
  readonly columns: SampleColumns;
}

/** Returns the fields that PromQL can read: numbers and booleans, or the one value of a metric table. */
export function sampleFields(table: Table): readonly SampleField[] {
  const fields = fieldsOf(table);
  if (!isMetricTable(table)) {
    return fields
      .filter((field) => isNumeric(field))
      .map(({ id, name }) => ({ name, columns: { value: id, histogram: undefined, start: undefined } }));
  }
  // Column names are configurable, so the fields are identified by their types.
  const value = fields.find(({ type }) => type === 'Float64');
  const histogram = fields.find(({ type }) => type === 'Binary');
  const start = fields.find(({ type }) => type === 'Int64');
  const name = (value ?? histogram)?.name;
  if (name === undefined) return [];
  return [{ name, columns: { value: value?.id ?? 0, histogram: histogram?.id, start: start?.id } }];
}

function isNumeric({ type }: Column): boolean {
  const { storage, timeUnit } = dataType(type);
  return (
    timeUnit === undefined &&
    (storage === 'int' || storage === 'float64' || storage === 'float32' || storage === 'bool')
  );
}
