import type { Column } from '#shared/contracts/gen/common';
import type { View } from '#shared/contracts/gen/metadata';

/** Whether what a name stands for is a view. */
export function isView(source: object): source is View {
  return 'viewId' in source;
}

/** Returns the columns of a view as if they were fields of a table. */
export function viewColumns({ columns }: View): Column[] {
  return columns.map(({ name, type }, i) => ({
    ...{ id: i + 1, name, type, kind: 'field', nullable: true, defaultSql: '', comment: '', backfillSql: '' },
    ...{ formerTypes: [], indexes: [] },
  }));
}
