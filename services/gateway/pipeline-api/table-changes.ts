import type { Table } from '#shared/contracts/gen/common';

import type { Transform, TransformColumn } from '../pipelines/transform/transform.js';
import { typeLabel } from '../pipelines/transform/column-type.js';
import type { JsonObject, JsonValue } from '../protocols/common/json.js';
import { dataType } from '#shared/schema/data-type';

const USES = { tag: 'TAG', field: 'FIELD', time: 'TIMESTAMP' } as const;

/** Returns what a pipeline would change in a table, which may not exist, and what does not fit. */
export function tableChanges({ columns }: Transform, table: Table | undefined): JsonObject {
  const added: JsonValue[] = [];
  const conflicts: JsonValue[] = [];
  const timeName = table?.columns.find(({ kind }) => kind === 'time')?.name;
  for (const column of columns) {
    const existing = table?.columns.find(({ name }) => name === column.name);
    const isOtherTime = column.use === 'time' && timeName !== undefined && timeName !== column.name;
    if (isOtherTime && isNamed(column)) {
      conflicts.push({ column: column.name, expected: `TIMESTAMP ${timeName}`, given: described(column) });
    } else if (existing === undefined && !isOtherTime) {
      added.push({ name: column.name, data_type: typeLabel(column.type), column_type: USES[column.use] });
    } else if (existing !== undefined && existing.type !== column.type.name && column.use !== 'time') {
      const expected = `${USES[existing.kind as keyof typeof USES]} ${typeLabel(dataType(existing.type))}`;
      conflicts.push({ column: column.name, expected, given: described(column) });
    }
  }
  return { columns_added: added, conflicts };
}

function described({ use, type }: TransformColumn): string {
  return `${USES[use]} ${typeLabel(type)}`;
}

/** A time of receipt takes the name that the table has. */
function isNamed({ now }: TransformColumn): boolean {
  return now !== 'invalid' && now !== 'always';
}
