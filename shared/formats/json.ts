import type { Cell, IntervalCell, ValueType } from '#shared/duckdb/chunk-reader';
import type { ColumnCells } from '#shared/duckdb/column-cells';
import { intervalText } from '#shared/duckdb/interval-text';
import { elementsOfVector, float32Digits } from '#shared/schema/vector';

import {
  encodeCellRows,
  encodedBy,
  FLOAT_WRITER,
  float64Text,
  INTEGER_WRITER,
  bareText,
  withPoint,
  type CellWriter,
  type RowShape,
} from './cell-rows.js';
import type { Encoder, HeadColumn, OutputColumn, ResultFormat } from './format.js';

/** Rows as arrays. */
const ARRAY_ROWS: RowShape = { between: ',', open: '[', close: ']', nullText: 'null' };

/**
 * Rows as JSON arrays, with exact integers, floats that read back equal, and null for NaN (spec: docs/http-api.md):
 *
 *     {"output":[{"records":{"schema":{"column_schemas":[..]},"rows":[..],"total_rows":1}},{"affectedrows":3}],
 *      "execution_time_ms":7}
 */
export const jsonFormat: ResultFormat = {
  names: ['greptimedb_v1', 'almanac_v1', 'json_v1'],
  contentType: 'application/json',
  isSingle: false,
  separator: ',',
  head(columns, index) {
    let head = heads.get(columns);
    if (head === undefined) heads.set(columns, (head = headOf(columns)));
    return before(index) + head;
  },

  tail: (rowCount) => `],"total_rows":${rowCount}}}`,

  affected: (rowCount, index) => `${before(index)}{"affectedrows":${rowCount}}`,

  end: (resultCount, elapsedMs) => `${resultCount === 0 ? '{' : '],'}"execution_time_ms":${elapsedMs}}`,

  encodeRows: encodeJson,
  encodeColumns: encodeJson,

  rowSql: (columns, names) => arraySql(columns, names, jsonSql),
};

function encodeJson(columns: readonly OutputColumn[], cells: readonly ColumnCells[], rowCount: number): Uint8Array {
  const writers: CellWriter[] = [];
  for (const { type } of columns) writers.push(jsonWriter(type));
  return encodeArrays(cells, rowCount, writers);
}

/** Returns rows as arrays. @param writers of the columns */
export function encodeArrays(
  cells: readonly ColumnCells[],
  rowCount: number,
  writers: readonly CellWriter[],
): Uint8Array {
  return encodeCellRows(cells, rowCount, writers, ARRAY_ROWS);
}

/** Those of columns for which queries of one template have the same array. */
const heads = new WeakMap<readonly HeadColumn[], string>();

function headOf(columns: readonly HeadColumn[]): string {
  const schemas = columns.map(({ name, type }) => ({ name, data_type: type }));
  return `{"records":{"schema":{"column_schemas":${JSON.stringify(schemas)}},"rows":[`;
}

/** Returns SQL for the text of a row as an array. @param valueSql as `jsonSql`. */
export function arraySql(
  columns: readonly OutputColumn[],
  names: readonly string[],
  valueSql: (column: OutputColumn, name: string) => string | undefined,
): string | undefined {
  const parts: string[] = [];
  for (const [i, column] of columns.entries()) {
    const sql = valueSql(column, names[i]);
    if (sql === undefined) return undefined;
    parts.push(`coalesce(${sql}, 'null')`);
  }
  return `concat('[', ${parts.join(`, ',', `)}, ']')`;
}

function before(index: number): string {
  return index === 0 ? '{"output":[' : ',';
}

/** Returns what writes values as `jsonEncoder` encodes them. */
export function jsonWriter(type: ValueType): CellWriter {
  switch (type.kind) {
    case 'int':
      return INTEGER_WRITER;
    case 'float64':
      return FLOAT_WRITER;
    default:
      return encodedBy(jsonEncoder(type));
  }
}

/** Returns the encoder of values as JSON, with exact integers, and null for NaN and infinities. */
export function jsonEncoder(type: ValueType): Encoder {
  switch (type.kind) {
    case 'text':
      return textEncoder();
    case 'decimal':
      return (cell) => `"${bareText(cell)}"`;
    case 'float64':
      return (cell) => float64Text(cell as number);
    case 'float32':
      return (cell) => float32Text(cell as number);
    case 'binary':
      return (cell) => `[${(cell as Uint8Array).join(',')}]`;
    case 'vector':
      return (cell) => `[${[...elementsOfVector(cell as Uint8Array)].map(float32Text).join(',')}]`;
    case 'interval':
      return (cell) => `"${intervalText(cell as IntervalCell)}"`;
    case 'list':
      return listEncoder(type);
    case 'struct':
      return structEncoder(type);
    case 'map':
      return mapEncoder(type);
    default:
      return bareText; // integers, booleans, and JSON texts as they stand
  }
}

/** Returns an encoder that keeps the last text: rows of one series follow each other, and have the same tags. */
function textEncoder(): Encoder {
  let last: Cell = null;
  let json = 'null';
  return (cell) => {
    if (cell === last) return json;
    last = cell;
    return (json = JSON.stringify(cell));
  };
}

function nullable(type: ValueType | undefined): Encoder {
  const encoder = type === undefined ? bareText : jsonEncoder(type);
  return (cell) => (cell === null ? 'null' : encoder(cell));
}

function listEncoder(type: ValueType): Encoder {
  const item = nullable(type.child);
  return (cell) => `[${(cell as readonly Cell[]).map(item).join(',')}]`;
}

function structEncoder(type: ValueType): Encoder {
  const fields = (type.fields ?? []).map((field) => ({
    key: JSON.stringify(field.name),
    encode: nullable(field.type),
  }));
  return (cell) => {
    const { members } = cell as { readonly members: readonly Cell[] };
    return `{${fields.map((field, i) => `${field.key}:${field.encode(members[i])}`).join(',')}}`;
  };
}

function mapEncoder(type: ValueType): Encoder {
  const key = nullable(type.fields?.[0].type);
  const value = nullable(type.fields?.[1].type);
  const quoted = (text: string): string => (text.startsWith('"') ? text : JSON.stringify(text));
  return (cell) =>
    `{${(cell as readonly (readonly Cell[])[]).map((pair) => `${quoted(key(pair[0]))}:${value(pair[1])}`).join(',')}}`;
}

/** Returns the shortest text of a single-precision number: `1.99`, not `1.9900000095367432`. */
function float32Text(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (Object.is(value, -0)) return '-0.0';
  return withPoint(float32Digits(value));
}

const TIME_SQL: Readonly<Record<string, (name: string) => string>> = {
  Date: (name) => `(${name} - DATE '1970-01-01')`,
  TimestampSecond: (name) => `epoch_us(${name}) // 1000000`,
  TimestampMillisecond: (name) => `epoch_ms(${name})`,
  TimestampMicrosecond: (name) => `epoch_us(${name})`,
  TimestampNanosecond: (name) => `epoch_ns(${name})`,
};

/** Returns SQL for the JSON text of one value, NULL for null; undefined for types that only `encodeRows` writes. */
export function jsonSql({ type }: OutputColumn, name: string): string | undefined {
  switch (type.kind) {
    case 'bool':
      return `CAST(${name} AS VARCHAR)`;
    case 'int':
      if (type.name.startsWith('TimeM')) return undefined;
      return `CAST(${TIME_SQL[type.name]?.(name) ?? name} AS VARCHAR)`;
    case 'float32':
    case 'float64':
      return `CASE WHEN isfinite(${name}) THEN CAST(${name} AS VARCHAR) END`;
    case 'text':
      return `CAST(to_json(CAST(${name} AS VARCHAR)) AS VARCHAR)`;
    case 'json':
      return name;
    case 'decimal':
      return `'"' || CAST(${name} AS VARCHAR) || '"'`;
    default:
      return undefined;
  }
}
