import type { Column, Table } from '#shared/contracts/gen/common';
import { dataType } from '#shared/schema/data-type';
import { labelOfColumn as labelOfMetricColumn } from '#shared/schema/label-column';
import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import { fieldsOf } from '#shared/schema/table-schema';

import type { SampleColumns } from './sample-slice.js';

/** Whether the table holds all metrics of remote write: their names are a tag. */
export function isMetricTable({ options }: Table): boolean {
  return options[PHYSICAL_METRIC_TABLE] === 'true';
}

/** The label that a tag column is. */
export function labelOfTagColumn(table: Table, column: string): string {
  return isMetricTable(table) ? labelOfMetricColumn(column) : column;
}

/** A field whose values are samples. */
export interface SampleField {
  readonly name: string;
  readonly columns: SampleColumns;
}

/** The fields of a table that PromQL can read: numbers and booleans; of a metric table its one value. */
export function sampleFields(table: Table): readonly SampleField[] {
  const fields = fieldsOf(table);
  if (!isMetricTable(table)) {
    return fields
      .filter((field) => isNumeric(field))
      .map(({ id, name }) => ({ name, columns: { value: id, histogram: undefined, start: undefined } }));
  }
  // Names are for the user to choose, types are not.
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
