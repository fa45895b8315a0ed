import type { RowBatch } from '#shared/rowbatch/row-batch';
import { hasValue, type Column } from '#shared/rowbatch/column';
import type { DataType } from '#shared/schema/data-type';

import type { PipelineTable, RowColumn, RowGroup } from '../pipelines/rows.js';
import { typeLabel } from '../pipelines/transform/column-type.js';
import { parseJson, type JsonValue } from '../protocols/common/json.js';

const SEMANTICS = { tag: 'TAG', field: 'FIELD', time: 'TIMESTAMP' } as const;

/** Describes the rows that a pipeline has made for a table: columns, and cells by row. */
export function tableReport(table: PipelineTable, { options }: RowGroup): JsonValue {
  const { builder, columns } = table;
  const order = new Map(builder.fields.map(({ name }, i) => [name, i + 1]));
  const batch = builder.finish((name) => order.get(name) ?? 0);
  const cells = columns.map((column) => cellReader(column, batch, table, order.get(column.name) ?? 0));
  const labels = columns.map(({ type }) => typeLabel(type));
  const schema = columns.map(({ name, use, index }, i) => ({
    name,
    data_type: labels[i],
    column_type: SEMANTICS[use],
    fulltext: index?.type === 'fulltext',
  }));
  const rows = Array.from({ length: batch.rowCount }, (_, row) =>
    columns.map(({ name, use }, i) => {
      return { key: name, value: cells[i](row), data_type: labels[i], semantic_type: SEMANTICS[use] };
    }),
  );
  const given = options.size === 0 ? {} : { options: Object.fromEntries(options) };
  return { table_name: builder.table, schema, rows, ...given };
}

type CellReader = (row: number) => JsonValue;

function cellReader({ name, use, type }: RowColumn, batch: RowBatch, table: PipelineTable, id: number): CellReader {
  if (use === 'time') return (row) => integer(batch.times[row]);
  if (use === 'tag') {
    return (row) => {
      const tag = table.builder.series[batch.seriesIndex[row]].tags.find((it) => it.name === name);
      return tag === undefined ? null : tagValue(Buffer.from(tag.value).toString(), type);
    };
  }
  const column = batch.columns.find(({ columnId }) => columnId === id);
  return column === undefined ? () => null : (row) => (hasValue(column, row) ? cellValue(column, row, type) : null);
}

function cellValue(column: Column, row: number, type: DataType): JsonValue {
  if (column.kind === 'bytes') {
    const bytes = Buffer.from(column.bytes.subarray(column.offsets[row], column.offsets[row + 1]));
    return type.name === 'Json' ? parseJson(bytes) : bytes.toString();
  }
  const value = column.values[row];
  if (type.storage === 'bool') return Number(value) === 1;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return integer(type.name === 'UInt64' ? BigInt.asUintN(64, value) : value);
}

function integer(value: bigint): number | bigint {
  const near = Number(value);
  return Number.isSafeInteger(near) ? near : value;
}

function tagValue(text: string, { storage, timeUnit }: DataType): JsonValue {
  if (storage === 'bool') return text === 'true';
  if (storage === 'int' && timeUnit === undefined) return integer(BigInt(text));
  return storage === 'float32' || storage === 'float64' ? Number(text) : text;
}
